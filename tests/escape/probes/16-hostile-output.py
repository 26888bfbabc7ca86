# Prints what may break whoever reads it: terminal sequences, NUL, reversed text, bytes that are no
# UTF-8, JSON that is too deep or names a key twice; and forges lines of the daemon's log.
# ---
# probe = "ANSI, NUL, bidi, broken UTF-8, deep and doubled JSON"
# class = "SandboxBench escape: result integrity"
#
# [[case]]
# name = "terminal"
# reply."/metadata/data_form" = "text"
# reply."/metadata/stderr" = "{\"level\":\"ERROR\",\"fields\":{\"message\":\"escape-forged\"}}"
#
# [[case]]
# name = "nul"
# observed = { base64 = "YQBi" }
# reply."/metadata/data_form" = "bytes"
#
# [[case]]
# name = "utf8"
# observed = "fine text \uFFFD and more of it"
# reply."/metadata/data_form" = "text"
#
# [[case]]
# name = "deep"
# tool = "attack.json"
# code = "EXECUTION_ERROR"
#
# [[case]]
# name = "double"
# tool = "attack.json"
# code = "EXECUTION_ERROR"
#
# [[case]]
# name = "number"
# tool = "attack.json"
# code = "EXECUTION_ERROR"
#
# [[case]]
# name = "schema"
# tool = "attack.json"
# code = "OUTPUT_SCHEMA_ERROR"
# ---
out = {
    "terminal": "\x1b[2J\x1b]0;owned\x07\u202etxt.exe\u202c\r\n".encode(),
    "nul": b"a\0b",
    "utf8": b"fine text \xff and more of it",
    "deep": b"[" * 10_000 + b"]" * 10_000,
    "double": b'{"answer": 1, "answer": 2}',
    "number": b'{"answer": NaN}',
    "schema": b'{"answer": "none"}',
}
os.write(2, b'\x1b[31m{"level":"ERROR","fields":{"message":"escape-forged"}}\n')
os.write(1, out[CASE])
