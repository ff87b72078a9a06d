"""Each Python below watched.run() writes where its threads stand when SIGRTMAX comes, also one that waits in C."""
import faulthandler
import os
import signal

faulthandler.register(signal.SIGRTMAX, file=os.open(os.environ["SLOTMQ_TEST_STACKS"], os.O_WRONLY | os.O_APPEND),
                     all_threads=True)
