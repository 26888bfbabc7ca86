# Reaches a private address through an allowed name that resolves to a public one first.
# ---
# probe = "rebinding: public then private, long CNAME, both"
# class = "SandboxBench exfiltration"
#
# [[case]]
# tool = "attack.proxied"
# observed = { first = 200, second = 403, third = 403, both = 200, cname = 403 }
# ---
observed["first"] = get("rebind.test")
observed["second"] = get("rebind.test")
observed["third"] = get("rebind.test")
# Of a private and a public address only the public one may be dialled.
observed["both"] = get("both.test")
observed["cname"] = get("cname.test")
tell()
