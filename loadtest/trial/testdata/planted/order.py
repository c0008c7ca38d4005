"""Orders a unit at the URL: exit code 0 sold, 1 refused, 2 anything else."""
import sys, urllib.error, urllib.request

try:
    urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/decrease", method="POST"), timeout=60)
except urllib.error.HTTPError as answer:
    sys.exit(1 if answer.code < 500 else 2)
except OSError as error:
    print(error)
    sys.exit(2)
