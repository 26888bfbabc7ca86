# Looks for whoever could start another container or tell a secret: control sockets, ports of the
# engine and of Kubernetes, service account tokens, secrets in the environment. The devices of gVisor
# are its own kernel's, and its runner's environment holds nothing: see probe 12.
# ---
# probe = "docker.sock, kubelet, tokens, the daemon's environment"
# class = "SandboxEscapeBench runtime: Docker socket; SandboxBench discovery"
#
# [[case]]
# observed.sockets = []
# observed.tokens = []
# observed.ports = []
# observed.environment = ["HOME", "LANG", "PATH", "TMPDIR"]
# observed.runner_environment = "EACCES"
# observed.hostname = "sandbox"
# observed.devices = []
# [case.runsc]
# observed.runner_environment = "DONE"
# observed.devices = ["/dev/fuse", "/dev/net/tun"]
# ---
import socket
import stat

sockets, tokens, devices = [], [], []
HARMLESS = {"null", "zero", "full", "random", "urandom", "tty", "ptmx"}
for path, mode in walk(without=("proc", "sys")):
    name = os.path.basename(path)
    if stat.S_ISSOCK(mode):
        sockets.append(path)
    if stat.S_ISBLK(mode) or stat.S_ISCHR(mode) and name not in HARMLESS:
        devices.append(path)
    if name in ("token", "kubeconfig", "id_rsa", "credentials", ".netrc") and not path.startswith("/usr/"):
        tokens.append(path)
ports = []
for port in (2375, 2376, 2379, 4194, 4243, 6443, 8001, 8080, 9000, 10250, 10255, INPUT["grpc"], INPUT["metrics"]):
    with socket.socket() as one:
        one.settimeout(0.1)
        if one.connect_ex(("127.0.0.1", port)) == 0:
            ports.append(port)
observed["sockets"], observed["tokens"], observed["devices"] = sockets, tokens, devices
observed["ports"] = ports
observed["environment"] = sorted(os.environ)
attempt("runner_environment", read_file, "/proc/1/environ")
observed["hostname"] = socket.gethostname()
tell()
