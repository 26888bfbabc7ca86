//! The units of measure that are made of several: `N·m`, `km/h`, `g/cm3`. A dot between two may be written
//! as any sign of multiplication; what is raised to a power stands in plain digits, as texts are read.

use super::table::{ENERGY, POWER, SPEED};
use super::{Unit, of};

const FORCE: &str = "force";
const TORQUE: &str = "torque";
const ACCELERATION: &str = "acceleration";
const FLOW: &str = "flow of volume";
const DENSITY: &str = "mass per volume";
const GRAMMAGE: &str = "mass per area";
const AMOUNT: &str = "amount of substance per volume";
const IRRADIANCE: &str = "power per area";
const ROTATION: &str = "rotation";
const FUEL: &str = "volume per distance";
const DRAW: &str = "energy per distance";
const CHARGE: &str = "electric charge";
const APPARENT: &str = "apparent power";
const RESISTANCE: &str = "resistance";
const RATE: &str = "data per time";
const SOUND: &str = "level of sound";
const SHARE: &str = "parts";

/// The units of speed, energy and power have their base unit in the other table; of every other dimension
/// the first has the factor one.
pub(super) static UNITS: &[Unit] = &[
    of(
        "m/s",
        SPEED,
        (1, 0),
        1,
        &["米/秒", "米每秒", "mps", "m per second", "metres per second", "meters per second"],
    ),
    of(
        "km/h",
        SPEED,
        (10, 0),
        36,
        &[
            "kph",
            "kmh",
            "公里/小时",
            "公里/时",
            "千米/小时",
            "千米/时",
            "公里每小时",
            "千米每小时",
            "km per hour",
            "kilometres per hour",
            "kilometers per hour",
        ],
    ),
    of("mph", SPEED, (44_704, 5), 1, &["英里/小时", "英里每小时", "mi/h", "miles per hour"]),
    of("kn", SPEED, (1852, 0), 3600, &["knot", "knots", "节"]),
    of("km/s", SPEED, (1000, 0), 1, &["公里/秒", "千米/秒"]),
    of("m/min", SPEED, (1, 0), 60, &["米/分", "米/分钟", "米每分钟"]),
    of("cm/s", SPEED, (1, 2), 1, &["厘米/秒"]),
    of("mm/s", SPEED, (1, 3), 1, &["毫米/秒"]),
    of("mm/min", SPEED, (1, 3), 60, &["毫米/分", "毫米/分钟"]),
    of("ft/s", SPEED, (3048, 4), 1, &["feet per second"]),
    of("m/s2", ACCELERATION, (1, 0), 1, &["m/s^2", "米/秒2", "米每二次方秒"]),
    of("Wh", ENERGY, (3600, 0), 1, &["W·h", "瓦时", "瓦·时", "watt hour", "watt hours"]),
    of(
        "kWh",
        ENERGY,
        (3_600_000, 0),
        1,
        &["kW·h", "千瓦时", "千瓦·时", "千瓦小时", "度电", "kilowatt hour", "kilowatt hours"],
    ),
    of(
        "MWh",
        ENERGY,
        (3_600_000_000, 0),
        1,
        &["MW·h", "兆瓦时", "megawatt hour", "megawatt hours"],
    ),
    of("GWh", ENERGY, (3_600_000_000_000, 0), 1, &["GW·h", "吉瓦时"]),
    of("MJ", ENERGY, (1_000_000, 0), 1, &["兆焦", "megajoule", "megajoules"]),
    of("GJ", ENERGY, (1_000_000_000, 0), 1, &["吉焦", "gigajoule", "gigajoules"]),
    of("mW", POWER, (1, 3), 1, &["毫瓦", "milliwatt", "milliwatts"]),
    of("GW", POWER, (1_000_000_000, 0), 1, &["吉瓦", "gigawatt", "gigawatts"]),
    of("VA", APPARENT, (1, 0), 1, &["V·A", "伏安", "volt-ampere", "volt-amperes"]),
    of("kVA", APPARENT, (1000, 0), 1, &["kV·A", "千伏安"]),
    of("MVA", APPARENT, (1_000_000, 0), 1, &["MV·A", "兆伏安"]),
    of("W/m2", IRRADIANCE, (1, 0), 1, &["瓦/平方米", "watts per square metre"]),
    of("kW/m2", IRRADIANCE, (1000, 0), 1, &["千瓦/平方米"]),
    of("N", FORCE, (1, 0), 1, &["牛顿", "newton", "newtons"]),
    of("kN", FORCE, (1000, 0), 1, &["千牛", "kilonewton", "kilonewtons"]),
    of("kgf", FORCE, (980_665, 5), 1, &["千克力", "公斤力"]),
    of("lbf", FORCE, (44_482_216_152_605, 13), 1, &[]),
    of(
        "N·m",
        TORQUE,
        (1, 0),
        1,
        &[
            "Nm",
            "N.m",
            "N-m",
            "牛·米",
            "牛米",
            "牛顿·米",
            "牛顿米",
            "newton metre",
            "newton metres",
            "newton meter",
            "newton meters",
            "newton-metre",
            "newton-metres",
            "newton-meter",
            "newton-meters",
        ],
    ),
    of("kN·m", TORQUE, (1000, 0), 1, &["kNm", "千牛·米", "千牛米"]),
    of("mN·m", TORQUE, (1, 3), 1, &["mNm", "毫牛·米", "毫牛米"]),
    of("N·cm", TORQUE, (1, 2), 1, &["Ncm", "牛·厘米", "牛厘米"]),
    of("kgf·m", TORQUE, (980_665, 5), 1, &["kgf.m", "公斤力·米"]),
    of("kgf·cm", TORQUE, (980_665, 7), 1, &["kgf.cm", "公斤力·厘米"]),
    of(
        "lbf·ft",
        TORQUE,
        (13_558_179_483_314_004, 16),
        1,
        &["ft·lbf", "lb·ft", "ft·lb", "lb-ft", "ft-lb", "ft-lbs", "foot-pound", "foot-pounds"],
    ),
    of(
        "lbf·in",
        TORQUE,
        (1_129_848_290_276_167, 16),
        1,
        &["in·lbf", "lb·in", "in·lb", "lb-in", "in-lb", "in-lbs", "inch-pound", "inch-pounds"],
    ),
    of(
        "m3/h",
        FLOW,
        (1, 0),
        1,
        &[
            "立方米/小时",
            "立方米/时",
            "立方米每小时",
            "cubic metres per hour",
            "cubic meters per hour",
        ],
    ),
    of("m3/min", FLOW, (60, 0), 1, &["立方米/分", "立方米/分钟", "立方米每分钟"]),
    of("m3/s", FLOW, (3600, 0), 1, &["立方米/秒", "立方米每秒"]),
    of("L/h", FLOW, (1, 3), 1, &["l/h", "升/小时", "升/时", "升每小时"]),
    of(
        "L/min",
        FLOW,
        (6, 2),
        1,
        &["l/min", "升/分", "升/分钟", "升每分钟", "litres per minute", "liters per minute"],
    ),
    of("L/s", FLOW, (36, 1), 1, &["l/s", "升/秒", "升每秒"]),
    of("mL/h", FLOW, (1, 6), 1, &["ml/h", "毫升/小时"]),
    of("mL/min", FLOW, (6, 5), 1, &["ml/min", "毫升/分", "毫升/分钟"]),
    of("kg/m3", DENSITY, (1, 0), 1, &["千克/立方米", "公斤/立方米", "千克每立方米"]),
    of("g/m3", DENSITY, (1, 3), 1, &["克/立方米"]),
    of("mg/m3", DENSITY, (1, 6), 1, &["毫克/立方米", "毫克每立方米"]),
    of("ug/m3", DENSITY, (1, 9), 1, &["μg/m3", "微克/立方米", "微克每立方米"]),
    of("g/cm3", DENSITY, (1000, 0), 1, &["g/cc", "克/立方厘米", "克每立方厘米"]),
    of("kg/L", DENSITY, (1000, 0), 1, &["kg/l", "千克/升"]),
    of("g/mL", DENSITY, (1000, 0), 1, &["g/ml", "克/毫升"]),
    of("g/L", DENSITY, (1, 0), 1, &["g/l", "克/升", "克每升"]),
    of("mg/L", DENSITY, (1, 3), 1, &["mg/l", "毫克/升", "毫克每升"]),
    of("ug/L", DENSITY, (1, 6), 1, &["μg/L", "μg/l", "微克/升"]),
    of("mg/dL", DENSITY, (1, 2), 1, &["mg/dl", "毫克/分升"]),
    of("kg/m2", GRAMMAGE, (1, 0), 1, &["千克/平方米", "公斤/平方米"]),
    of("g/m2", GRAMMAGE, (1, 3), 1, &["gsm", "克/平方米", "克每平方米"]),
    of("mol/L", AMOUNT, (1, 0), 1, &["mol/l", "摩尔/升"]),
    of("mmol/L", AMOUNT, (1, 3), 1, &["mmol/l", "毫摩尔/升"]),
    of("umol/L", AMOUNT, (1, 6), 1, &["μmol/L", "μmol/l", "微摩尔/升"]),
    of(
        "rpm",
        ROTATION,
        (1, 0),
        1,
        &["r/min", "转/分", "转/分钟", "转每分钟", "revolutions per minute"],
    ),
    of("L/100km", FUEL, (1, 0), 1, &["L/100 km", "l/100km", "l/100 km", "升/百公里", "升每百公里"]),
    of(
        "kWh/100km",
        DRAW,
        (1, 0),
        1,
        &["kWh/100 km", "kW·h/100km", "千瓦时/百公里", "度/百公里", "度电/百公里"],
    ),
    of("Ah", CHARGE, (1, 0), 1, &["A·h", "安时", "安·时", "ampere hour", "ampere hours"]),
    of("mAh", CHARGE, (1, 3), 1, &["mA·h", "毫安时", "毫安·时"]),
    of("ohm", RESISTANCE, (1, 0), 1, &["Ω", "欧姆", "ohms"]),
    of("mohm", RESISTANCE, (1, 3), 1, &["mΩ", "毫欧", "milliohm", "milliohms"]),
    of("kohm", RESISTANCE, (1000, 0), 1, &["kΩ", "千欧", "kiloohm"]),
    of("Mohm", RESISTANCE, (1_000_000, 0), 1, &["MΩ", "兆欧", "megaohm"]),
    of("bit/s", RATE, (1, 0), 1, &["bps"]),
    of("kbit/s", RATE, (1000, 0), 1, &["kbps", "kb/s"]),
    of("Mbit/s", RATE, (1_000_000, 0), 1, &["Mbps", "Mb/s"]),
    of("Gbit/s", RATE, (1_000_000_000, 0), 1, &["Gbps", "Gb/s"]),
    of("B/s", RATE, (8, 0), 1, &["字节/秒"]),
    of("kB/s", RATE, (8000, 0), 1, &["KB/s"]),
    of("MB/s", RATE, (8_000_000, 0), 1, &["兆字节/秒"]),
    of("GB/s", RATE, (8_000_000_000, 0), 1, &[]),
    of("dB", SOUND, (1, 0), 1, &["分贝", "decibel", "decibels"]),
    of("ppm", SHARE, (1, 0), 1, &["parts per million"]),
    of("ppb", SHARE, (1, 3), 1, &["parts per billion"]),
];
