"""The desktop app: a window over `engine`, whose work happens in a child process."""

from app.lasting_constants import make_constants_last

make_constants_last()
