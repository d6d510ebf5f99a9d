"""Run logs: what every engine run did, on disk, readable and exportable later."""
