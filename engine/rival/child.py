"""`python -m engine.rival.child ENTRANCE`: one run, in a process that first enters a limit.

A Job comes on stdin, an Answer goes to stdout, both JSON. The process dies with its parent.
"""

import os
import sys


def main() -> None:
    """Enter, then load what the job needs: all that it takes counts."""
    entrance = os.open(sys.argv[1], os.O_WRONLY)
    os.write(entrance, b"%d" % os.getpid())
    os.close(entrance)
    _die_with_parent()
    # What libraries print must not mix with the answer.
    answers = os.dup(1)
    os.dup2(2, 1)

    import msgspec

    from engine.errors import EngineError
    from engine.rival.jobs import Answer, Done, Job, LlamaJob, Refused

    job: Job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    answer: Answer
    try:
        if isinstance(job, LlamaJob):
            from engine.rival import llama_side

            answer = Done(llama_side.run(job))
        else:
            from engine.rival import ours

            answer = Done(ours.run(job))
    except EngineError as error:
        answer = Refused(str(error))
    with os.fdopen(answers, "wb") as out:
        out.write(msgspec.json.encode(answer))
        out.flush()
    # The answer is all that counts; taking a model apart under a tight limit takes time.
    os._exit(0)


def _die_with_parent() -> None:
    import ctypes

    set_death_signal, kill = 1, 9  # PR_SET_PDEATHSIG, SIGKILL
    ctypes.CDLL(None).prctl(set_death_signal, kill, 0, 0, 0)


if __name__ == "__main__":
    main()
