// All checks, one after the other, in this order.
import "./package.js";
import "./results.js";
import "./memory.js";
import "./reason.js";
import "./doors.js";
import "./loop.js";
import "./drain.js";
