# The smallest sandbox: the runner and nothing else. HTTP tools run here.
NAME=runner
PACKAGES=""

finish() { :; }
