// The values, operators and functions of Python that the translated library uses. See `translator/__init__.py`.

// Errors

class $Exception extends Error {}
class $LookupError extends $Exception {}
class $ValueError extends $Exception {}
const $stop = {};
const $is_overflow = (error) => error instanceof RangeError;

// Records

class $Record {
  constructor(...values) {
    const { fields, defaults } = this.constructor;
    for (let index = 0; index < fields.length; index++) {
      this[fields[index]] = values[index] === undefined ? defaults[index] : values[index];
    }
  }
  static order(members) {
    return this.fields.map((name) => members[name]);
  }
}
class $Tuple extends $Record {
  *[Symbol.iterator]() {
    for (const name of this.constructor.fields) yield this[name];
  }
}
class $Options {
  constructor(options) {
    Object.assign(this, options);
  }
}
const $options = (rest) => (rest.at(-1) instanceof $Options ? rest.pop() : {});
const $replaced = (record, changes) =>
  new record.constructor(...record.constructor.fields.map((name) => (name in changes ? changes[name] : record[name])));
const $members = (map) => Object.fromEntries(map);
const $bind = (owner, value) => (typeof value === "function" ? value.bind(owner) : value);
const $enum = (name, members, methods) =>
  Object.assign(
    (value) => {
      if (Object.values(members).includes(value)) return value;
      throw new $ValueError(`'${$str(value)}' is not a valid ${name}`);
    },
    members,
    methods,
    { [Symbol.iterator]: () => Object.values(members)[Symbol.iterator]() },
  );
const $memos = new WeakMap();
const $memoized = (owner, name, compute) => {
  if (!$memos.has(owner)) $memos.set(owner, {});
  const memo = $memos.get(owner);
  if (!(name in memo)) memo[name] = compute();
  return memo[name];
};
const $cache = (compute) => {
  const results = new Map();
  return (...keys) => {
    const key = keys.length ? keys[0] : null;
    if (!results.has(key)) {
      if (results.size >= 1000) results.clear();
      results.set(key, compute(...keys));
    }
    return results.get(key);
  };
};

// Numbers: an int is a safe integer or a bigint, every other number is a float.

const $is_int = (value) => Number.isSafeInteger(value) || typeof value === "bigint" || typeof value === "boolean";
const $is_float = (value) => typeof value === "number" && !Number.isSafeInteger(value);
const $whole = (value) => {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value);
};
const $exact = (value) => ($is_int(value) ? BigInt(value) : null);
const $arithmetic = (left, right, exact, inexact) => {
  const result = inexact(Number(left), Number(right));
  if (Number.isSafeInteger(result) || !$is_int(left) || !$is_int(right)) return result;
  return $whole(exact(BigInt(left), BigInt(right)));
};
const $add = (left, right) => {
  if (Array.isArray(left)) return [...left, ...right];
  if (typeof left === "string") return left + right;
  return $arithmetic(left, right, (a, b) => a + b, (a, b) => a + b);
};
const $sub = (left, right) => {
  if (left instanceof Set) return $set($where(left, (item) => !$in(item, right)));
  return $arithmetic(left, right, (a, b) => a - b, (a, b) => a - b);
};
const $mul = (left, right) => {
  if (Array.isArray(left)) return $list($range(right)).flatMap(() => left);
  if (typeof left === "string") return left.repeat(Math.max(right, 0));
  return $arithmetic(left, right, (a, b) => a * b, (a, b) => a * b);
};
const $div = (left, right) => left / right;
const $fdiv = (left, right) => Math.floor(left / right);
const $pow = (left, right) => left ** right;
const $mod = (left, right) => left.mod(right);
const $abs = (value) => (value < 0 ? -value : value);
const $int = (value) => {
  if (typeof value === "string") return $whole(value);
  return typeof value === "bigint" ? value : $whole(Math.trunc(value));
};
const $floor = (value) => (typeof value === "bigint" ? value : $whole(Math.floor(value)));
const $ceil = (value) => (typeof value === "bigint" ? value : $whole(Math.ceil(value)));
const $float = Number;
const $isfinite = (value) => Number.isFinite(Number(value));
const $is_integer = (value) => Number.isInteger(value);
const $round = (value, digits) => Math.round(value * 10 ** digits) / 10 ** digits;
const $is_str = (value) => typeof value === "string";
const $is_bool = (value) => typeof value === "boolean";
const $is_map = (value) => value instanceof Map;
const $is_list = Array.isArray;
const $is = (value, test) => test(value);
const $gcd = (left, right) => {
  while (right) [left, right] = [right, left % right];
  return left;
};
const $lcm = (left, right) => {
  const [a, b] = [BigInt(left), BigInt(right)];
  return $whole((a / $gcd(a, b)) * b);
};
class $Decimal {
  constructor(text) {
    const [digits, exponent] = text.split("e");
    const [whole, fraction = ""] = digits.split(".");
    const shift = Number(exponent ?? 0) - fraction.length;
    this.numerator = BigInt(whole + fraction) * 10n ** BigInt(Math.max(shift, 0));
    this.denominator = 10n ** BigInt(Math.max(-shift, 0));
  }
  mod(other) {
    return $whole((this.numerator * other.denominator) % (other.numerator * this.denominator));
  }
}
const $Fraction = (value) => new $Decimal($str(value));
const $number_text = (value) => {
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : value < 0 ? "-Infinity" : "NaN";
  if (Object.is(value, -0)) return "0";
  const size = Math.abs(value);
  const text = String(value);
  if (size >= 1e-4 || !size) return text;
  const [digits, exponent] = value.toExponential().split("e-");
  return `${digits}e-${exponent.padStart(2, "0")}`;
};

// Equality, truth and keys

const $t = (value) => {
  if (typeof value !== "object" || value === null) return !!value;
  if (Array.isArray(value)) return value.length > 0;
  return value instanceof Map || value instanceof Set ? value.size > 0 : true;
};
const $and_ = (left, right) => ($t(left) ? right() : left);
const $or_ = (left, right) => ($t(left) ? left : right());
const $eq = (left, right) => {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) {
    // Python: 1 == True, and an int equals a float.
    return typeof left !== "string" && typeof right !== "string" && left !== null && right !== null &&
      typeof left !== "object" && typeof right !== "object" && left == right;
  }
  if (left.constructor !== right.constructor) return false;
  if (Array.isArray(left)) return left.length === right.length && left.every((item, index) => $eq(item, right[index]));
  if (left instanceof Map) {
    return left.size === right.size && [...left].every(([key, value]) => $has(right, key) && $eq(value, $get(right, key)));
  }
  if (left instanceof Set) return left.size === right.size && $le(left, right);
  const { fields } = left.constructor;
  return fields ? fields.every((name) => $eq(left[name], right[name])) : false;
};
const $ids = new WeakMap();
let $next_id = 1e6;
const $id = (value) => {
  if (typeof value === "object" && value !== null) {
    if (!$ids.has(value)) $ids.set(value, ++$next_id);
    return $ids.get(value);
  }
  // Small values are shared, and other strings and numbers of a document are objects of their own.
  if (value === null) return -1;
  if (typeof value === "boolean") return value ? -2 : -3;
  if (typeof value === "string" && value.length < 2) return value.length ? value.charCodeAt(0) : 65536;
  if (typeof value === "number" && value >= -5 && value <= 256) return value + 70000;
  return ++$next_id;
};
const $encode = (key) => {
  if (typeof key === "string") return JSON.stringify(key);
  if (typeof key !== "object" || key === null) return String(key);
  if (key instanceof Set) return `{${[...key].map($encode).sort().join()}}`;
  if (key instanceof Map) throw new TypeError("unhashable type: 'dict'");
  return `(${Array.from(key.constructor.fields?.map((name) => key[name]) ?? key, $encode).join()})`;
};
const $objects = Symbol("keys");
// Equal tuples are one key: the first of them.
const $key = (container, key, is_new) => {
  if (typeof key === "bigint") return $eq(key, Number(key)) ? Number(key) : key;
  if (typeof key !== "object" || key === null) return key;
  const known = (container[$objects] ??= new Map());
  const code = $encode(key);
  if (!known.has(code)) {
    if (!is_new) return key;
    known.set(code, key);
  }
  return known.get(code);
};
const $has = (container, key) => container.has($key(container, key, false));

// Containers

const $it = (value) => {
  if (value instanceof Map) return value.keys();
  if (value === null || typeof value[Symbol.iterator] !== "function") throw new TypeError("not iterable");
  return value;
};
const $put = (owner, key, value) => {
  if (owner instanceof Map) owner.set($key(owner, key, true), value);
  else owner[key < 0 ? owner.length + key : key] = value;
  return owner;
};
const $dict = (pairs = []) => {
  const map = new Map();
  for (const [key, value] of pairs) map.set(typeof key === "string" ? key : $key(map, key, true), value);
  return map;
};
const $o = (...parts) => {
  const map = new Map();
  for (const part of parts) for (const [key, value] of part[Symbol.iterator] ? part : Object.entries(part)) $put(map, key, value);
  return map;
};
const $set = (items = []) => {
  const set = new Set();
  for (const item of $it(items)) set.add(typeof item === "string" ? item : $key(set, item, true));
  return set;
};
const $fromkeys = (keys, value = null) => $dict($gen((keys), (key) => [key, value]));
const $list = (items = []) => [...$it(items)];
const $tuple = (items = []) => (Array.isArray(items) ? items : $list(items));
const $MappingProxyType = (map) => map;
const $at = (owner, key) => {
  if (owner instanceof Map) {
    const own = $key(owner, key, false);
    if (!owner.has(own)) throw new $LookupError(String(key));
    return owner.get(own);
  }
  if (owner instanceof $Match) return owner.group(key);
  if (typeof owner === "string") owner = $chars(owner);
  else if (owner instanceof $Tuple) owner = [...owner];
  const index = key < 0 ? owner.length + key : key;
  if (!(index in owner)) throw new $LookupError("index out of range");
  return owner[index];
};
const $delete = (owner, key) => owner.delete($key(owner, key, false));
const $get = (map, key, otherwise = null) => {
  const own = typeof key === "string" ? key : $key(map, key, false);
  const value = map.get(own);
  return value === undefined ? otherwise : value;
};
const $setdefault = (map, key, value) => {
  const own = $key(map, key, true);
  if (!map.has(own)) map.set(own, value);
  return map.get(own);
};
const $pop = (owner, key, ...otherwise) => {
  if (Array.isArray(owner)) return key === undefined ? owner.pop() : owner.splice(key, 1)[0];
  const own = $key(owner, key, false);
  if (!owner.has(own)) {
    if (otherwise.length) return otherwise[0];
    throw new $LookupError(String(key));
  }
  const value = owner.get(own);
  owner.delete(own);
  return value;
};
const $keys = (map) => $set(map.keys());
const $values = (map) => map.values();
const $items = (map) => map.entries();
const $in = (item, container) => {
  if (container instanceof Map || container instanceof Set) return $has(container, item);
  if (typeof container === "string") {
    if (typeof item !== "string") throw new TypeError("not a string");
    return container.includes(item);
  }
  for (const other of container) if ($eq(item, other)) return true;
  return false;
};
const $ior = (left, right) => {
  if (left instanceof Set) for (const item of $it(right)) $append(left, item);
  else for (const [key, value] of right) $put(left, key, value);
  return left;
};
const $append = (set, item) => set.add($key(set, item, true));
const $or = (left, right) => (left instanceof Map ? $dict([...left, ...right]) : $set([...left, ...right]));
const $and = (left, right) => $set($where(left, (item) => $in(item, right)));
const $le = (left, right) => {
  if (!(left instanceof Set)) return left <= right;
  for (const item of left) if (!$in(item, right)) return false;
  return true;
};
const $ge = (left, right) => $le(right, left);
const $lt = (left, right) => (left instanceof Set ? left.size < right.size && $le(left, right) : left < right);
const $gt = (left, right) => $lt(right, left);
const $isdisjoint = (left, right) => {
  for (const item of $it(right)) if ($has(left, item)) return false;
  return true;
};
const $issuperset = (left, right) => {
  for (const item of $it(right)) if (!$has(left, item)) return false;
  return true;
};
const $intersection = (left, right) => $set($where((right), (item) => $has(left, item)));
const $union = (left, ...others) => others.reduce((all, items) => $ior(all, items), $set(left));
const $difference_update = (set, items) => items.forEach((item) => $delete(set, item));
const $discard = $delete;
const $remove = $delete;
const $clear = (owner) => owner.clear();
const $extend = (list, items) => {
  for (const item of $it(items)) list.push(item);
  return list;
};
const $update = $ior;
const $iadd = (left, right) => (Array.isArray(left) ? $extend(left, right) : $add(left, right));
const $index = (list, item) => list.findIndex((other) => $eq(item, other));

// Iteration

function* $gen(items, element, condition) {
  for (const item of $it(items)) if (!condition || condition(item)) yield element(item);
}
function* $flat(items, inner, condition) {
  for (const item of $it(items)) if (!condition || condition(item)) yield* inner(item);
}
const $list_of = (items, element, condition) => {
  const list = [];
  for (const item of $it(items)) if (!condition || condition(item)) list.push(element(item));
  return list;
};
const $where = (items, condition) => $gen(items, (item) => item, condition);
const $list_where = (items, condition) => {
  const list = [];
  for (const item of $it(items)) if (condition(item)) list.push(item);
  return list;
};
const $any_of = (items, test, condition) => {
  for (const item of $it(items)) if ((!condition || condition(item)) && test(item)) return true;
  return false;
};
const $all_of = (items, test, condition) => !$any_of(items, (item) => !test(item), condition);
const $any = (items) => $any_of(items, $t);
const $all = (items) => $all_of($it(items), $t);
const $map = (convert, items) => $gen((items), (item) => convert(item));
const $filter = (test, items) => $where((items), test ?? $t);
function* $enumerate(items, start = 0) {
  for (const item of $it(items)) yield [start++, item];
}
function* $zip(left, right) {
  const others = $it(right)[Symbol.iterator]();
  for (const item of $it(left)) yield [item, others.next().value];
}
function* $range(start, end, step = 1) {
  if (end === undefined) [start, end] = [0, start];
  for (let index = start; step > 0 ? index < end : index > end; index += step) yield index;
}
function* $islice(items, count) {
  if (count > 0) for (const item of items) {
    yield item;
    if (--count <= 0) return;
  }
}
function* $accumulate(items) {
  let total = 0;
  for (const item of items) yield (total += item);
}
function* $combinations(items) {
  for (let first = 0; first < items.length; first++) {
    for (let second = first + 1; second < items.length; second++) yield [items[first], items[second]];
  }
}
const $reduce = (combine, items, start) => {
  for (const item of items) start = combine(start, item);
  return start;
};
const $iter = (items) => $it(items)[Symbol.iterator]();
const $next = (items, ...otherwise) => {
  const { done, value } = items.next();
  if (!done) return value;
  if (otherwise.length) return otherwise[0];
  throw $stop;
};
const $reversed = (items) => [...items].reverse();
const $sum = (items) => $reduce($add, items, 0);
const $extreme = (items, is_better) => {
  let best;
  for (const item of items) if (best === undefined || is_better(item, best)) best = item;
  return best;
};
const $arguments = (first, others) => (others.length ? [first, ...others] : $it(first));
const $max = (first, ...others) => $extreme($arguments(first, others), (left, right) => left > right);
const $min = (first, ...others) => $extreme($arguments(first, others), (left, right) => left < right);
const $sorted = (items, key, is_reversed) => {
  const value = key ?? ((item) => item);
  const sign = is_reversed ? -1 : 1;
  return $list(items).sort((left, right) => {
    const [a, b] = [value(left), value(right)];
    return a < b ? -sign : a > b ? sign : 0;
  });
};
const $len = (value) => {
  if (typeof value === "string") return /[\ud800-\udfff]/.test(value) ? $chars(value).length : value.length;
  if (value instanceof $Tuple) return value.constructor.fields.length;
  return value.size ?? value.length;
};
const $slice = (value, start, end, step) => {
  if (typeof value === "string") {
    if (/[\ud800-\udfff]/.test(value)) return $chars(value).slice(start ?? 0, end ?? undefined).join("");
  }
  const part = value.slice(start ?? 0, end ?? undefined);
  return step === undefined ? part : part.reverse();
};
// Kahn's algorithm; nodes on a cycle never become ready.
const $TopologicalSorter = (graph) => {
  const waiting = new Map();
  const dependents = new Map();
  for (const [node, needed] of graph) {
    waiting.set(node, needed.size);
    for (const other of needed) dependents.set(other, [...(dependents.get(other) ?? []), node]);
  }
  let ready = [...waiting.keys()].filter((node) => !waiting.get(node));
  return {
    prepare() {},
    get_ready() {
      const current = ready;
      ready = [];
      return current;
    },
    done(...nodes) {
      for (const node of nodes) {
        for (const other of dependents.get(node) ?? []) {
          waiting.set(other, waiting.get(other) - 1);
          if (!waiting.get(other)) ready.push(other);
        }
      }
    },
  };
};

// Strings

const $chars = (text) => Array.from(text);
const $str = (value) => {
  if (typeof value === "string") return value;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (value instanceof Error) return value.message;
  return typeof value === "number" ? $number_text(value) : String(value);
};
const $bool = $t;
const $f = (parts, ...values) => String.raw({ raw: parts }, ...values.map($str));
const $ord = (char) => char.codePointAt(0);
const $spec = (value, spec) =>
  spec === "," ? String(value).replace(/\B(?=(\d{3})+$)/g, ",") : value.toString(16).padStart(4, "0");
const $join = (separator, items) => $list(items).join(separator);
const $startswith = (text, start) => (Array.isArray(start) ? start.some((one) => text.startsWith(one)) : text.startsWith(start));
const $endswith = (text, end) => text.endsWith(end);
const $removeprefix = (text, prefix) => (text.startsWith(prefix) ? text.slice(prefix.length) : text);
const $removesuffix = (text, suffix) => (suffix && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text);
const $lower = (text) => text.toLowerCase();
const $upper = (text) => text.toUpperCase();
const $replace = (text, old, replacement) => text.replaceAll(old, () => replacement);
const $format_text = (text, value) => text.replace("{}", () => $str(value));
const $split = (text, separator, count) => {
  const parts = text.split(separator);
  return count === undefined ? parts : [...parts.slice(0, count), ...(parts.length > count ? [parts.slice(count).join(separator)] : [])];
};
const $partition = (text, separator) => {
  const index = text.indexOf(separator);
  return index < 0 ? [text, "", ""] : [text.slice(0, index), separator, text.slice(index + separator.length)];
};
const $rpartition = (text, separator) => {
  const index = text.lastIndexOf(separator);
  return index < 0 ? ["", "", text] : [text.slice(0, index), separator, text.slice(index + separator.length)];
};
const $SPACE = "\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000";
const $class = (chars) => (chars === undefined ? `[${$SPACE}]` : `[${chars.replace(/[\]\\^-]/g, "\\$&")}]`);
const $lstrip = (text, chars) => text.replace(new RegExp(`^${$class(chars)}+`), "");
const $rstrip = (text, chars) => {
  let end = text.length;
  const pattern = new RegExp($class(chars));
  while (end > 0 && pattern.test(text[end - 1])) end--;
  return text.slice(0, end);
};
const $strip = (text, chars) => $rstrip($lstrip(text, chars), chars);
const $find = (text, part, start = 0) => {
  const index = text.indexOf(part, $slice(text, 0, start).length);
  return index < 0 ? index : $len(text.slice(0, index));
};
const $isdigit = (text) => /^[\p{Nd}\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089]+$/u.test(text);
const $isdecimal = (text) => /^\p{Nd}+$/u.test(text);
const $isidentifier = (text) => /^[\p{ID_Start}_][\p{ID_Continue}]*$/u.test(text);
const $isprintable = (text) => !/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u.test(text);
const $isascii = (text) => !/[^\0-\x7f]/.test(text);
const $isalnum = (text) => /^[\p{L}\p{N}]+$/u.test(text);
const $isupper = (text) => text !== text.toLowerCase() && text === text.toUpperCase();
// An unpaired surrogate has three bytes, with `surrogatepass` and as the replacement of TextEncoder. A text of ASCII has
// the length of its bytes.
const $encode_text = (text, _, errors) => {
  if ($isascii(text)) return text;
  if (!errors && /\p{Cs}/u.test(text)) throw new $ValueError("surrogates not allowed");
  return new TextEncoder().encode(text);
};
const $unquote = (text) =>
  text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (codes) =>
    new TextDecoder("utf-8", { ignoreBOM: true }).decode(
      Uint8Array.from(codes.slice(1).split("%"), (code) => parseInt(code, 16)),
    ),
  );

// RFC 3986, section 5.2, as in Python: a base without a scheme, or with one that has no paths, is possible.
const $URI = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#([^]*))?$/;
const $HIERARCHICAL = ["", "ftp", "http", "gopher", "nntp", "imap", "wais", "file", "https", "shttp", "mms", "prospero", "rtsp", "rtspu", "sftp", "svn", "svn+ssh", "ws", "wss"];
const $segments = (path) => {
  const kept = [];
  const segments = path.split("/");
  for (const segment of segments) {
    if (segment === "..") kept.pop();
    else if (segment !== ".") kept.push(segment);
  }
  if ([".", ".."].includes(segments.at(-1))) kept.push("");
  return kept.join("/") || "/";
};
const $urljoin = (base, url) => {
  if (!base || !url) return url || base;
  const [, base_scheme = "", base_host, base_path] = $URI.exec(base);
  const base_query = $URI.exec(base)[4];
  let [, scheme, host, path, query, fragment] = $URI.exec(url);
  scheme = (scheme ?? base_scheme).toLowerCase();
  if (scheme !== base_scheme.toLowerCase() || !$HIERARCHICAL.includes(scheme)) return url;
  if (!host) {
    host = base_host;
    if (!path) {
      path = base_path;
      query ||= base_query;
    } else {
      const parts = path.startsWith("/") ? path : `${base_path.slice(0, base_path.lastIndexOf("/") + 1) || (host ? "/" : "")}${path}`;
      path = $segments(parts);
    }
  }
  if (host && path && !path.startsWith("/")) path = `/${path}`;
  return `${scheme && `${scheme}:`}${host ? `//${host}` : ""}${path}${query ? `?${query}` : ""}${fragment ? `#${fragment}` : ""}`;
};

// Regular expressions

class $Match {
  constructor(found) {
    this.found = found;
  }
  group(key) {
    return (typeof key === "string" ? this.found.groups[key] : this.found[key]) ?? null;
  }
  get lastgroup() {
    // The library asks only for alternatives that are one named group each.
    const { groups } = this.found;
    return Object.keys(groups).find((name) => groups[name] !== undefined) ?? null;
  }
}
class $Regex {
  constructor(source, flags) {
    this.pattern = source;
    this.flags = flags;
  }
  compiled(prefix, suffix) {
    return (this[suffix] ??= new RegExp(prefix + this.pattern + suffix, `g${this.flags}`));
  }
}
const $regex = (source, flags = "u") => (source instanceof $Regex ? source : new $Regex(source, flags));
const $exec = (pattern, text, start) => {
  pattern.lastIndex = start;
  const found = pattern.exec(text);
  return found && new $Match(found);
};
const $fullmatch = (regex, text) => $exec(regex.compiled("^(?:", ")$"), text, 0);
const $search = (regex, text, start = 0) => $exec(regex.compiled("", ""), text, start);
const $finditer = (regex, text) => $gen(text.matchAll(regex.compiled("", "")), (found) => new $Match(found));
const $findall = (regex, text) => $list_of(text.matchAll(regex.compiled("", "")), (found) => found[0]);
const $resub = (regex, replacement, text) => {
  let result = "";
  let end = 0;
  for (const found of text.matchAll(regex.compiled("", ""))) {
    result += text.slice(end, found.index) + (typeof replacement === "string" ? replacement : replacement(new $Match(found)));
    end = found.index + found[0].length;
  }
  return result + text.slice(end);
};
const $escape = (text) => text.replace(/[\^$\\.*+?()[\]{}|/]/g, "\\$&");
// Raises SyntaxError where Python's `re` does: unknown groups, and the rules that both engines share.
const $syntax = (source) => {
  const pattern = source.replace(/\(\?P</g, "(?<").replace(/\(\?P=(\w+)\)/g, "\\k<$1>");
  new RegExp(pattern);
  let groups = 0;
  const names = [];
  for (const [token, used, name, number] of pattern.matchAll($GROUPS)) {
    if (token === "(" || name) groups++;
    if (name) names.push(name);
    if ((used && !names.includes(used)) || number > groups) throw new SyntaxError("unknown group");
  }
};
const $GROUPS = /\\k<(\w+)>|\(\?<(\w+)>|\\([1-9]\d?)|\\[^]|\[(?:\\[^]|[^\]\\])*\]|\((?!\?)/g;

// JSON

const $dumps = (value, options) => {
  const [comma, colon] = options.separators ?? [", ", ": "];
  const active = new Set();
  const text = (part) => {
    if (typeof part === "string") return options.ensure_ascii === false ? $quoted(part) : $ascii($quoted(part));
    if (part === null || typeof part === "boolean") return String(part);
    if (typeof part === "number" || typeof part === "bigint") return $str(part);
    if (!Array.isArray(part) && !(part instanceof Map)) {
      if (options.default) return $quoted(String(part));
      throw new TypeError("not JSON");
    }
    if (active.has(part)) throw new $ValueError("Circular reference detected");
    active.add(part);
    const items = Array.isArray(part)
      ? part.map(text)
      : (options.sort_keys ? $sorted(part.entries(), (pair) => pair[0]) : [...part]).map(([key, item]) => `${text(key)}${colon}${text(item)}`);
    active.delete(part);
    return Array.isArray(part) ? `[${items.join(comma)}]` : `{${items.join(comma)}}`;
  };
  return text(value);
};
// Unlike JSON.stringify, Python does not escape unpaired surrogates here.
const $quoted = (text) =>
  JSON.stringify(text).replace(/(?<!\\)((?:\\\\)*)\\u(d[89a-f]..)/g, (_, before, code) => before + String.fromCharCode(parseInt(code, 16)));
const $ascii = (text) => text.replace(/[\x7f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
const $loads = (text) => $from(JSON.parse(text));
// Python's copy is limited by its stack, at about this level.
const $deepcopy = (value, level = 0) => {
  if (level > 300) throw new RangeError("nested too deep");
  if (Array.isArray(value)) return value.map((part) => $deepcopy(part, level + 1));
  if (!(value instanceof Map)) return value;
  return $dict($list_of(value.entries(), ([key, part]) => [key, $deepcopy(part, level + 1)]));
};

// Values of JavaScript

class $Foreign {
  constructor(value) {
    this.value = value;
  }
}
const $typename = (value) => (value instanceof $Foreign ? typeof value.value : typeof value);
// Deeper values are too deep for the stack of some engines.
const $MAX_LEVELS = 2_000;
const $from = (value, known = new Map(), level = 0) => {
  if (typeof value === "number") {
    if (Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21) return BigInt(value);
    return value === 0 ? 0 : value;
  }
  if (typeof value === "bigint") return $whole(value);
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value !== "object" || level > $MAX_LEVELS) return new $Foreign(value);
  if (known.has(value)) return known.get(value);
  if (Array.isArray(value)) {
    const list = [];
    known.set(value, list);
    for (const item of value) list.push($from(item === undefined ? null : item, known, level + 1));
    return list;
  }
  const map = new Map();
  known.set(value, map);
  const entries = value instanceof Map ? value : Object.entries(value);
  for (const [name, item] of entries) if (item !== undefined) map.set(name, $from(item, known, level + 1));
  return map;
};
const $to = (value) => {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map($to);
  if (!(value instanceof Map)) return value;
  const object = {};
  for (const [name, item] of value) {
    Object.defineProperty(object, name, { value: $to(item), writable: true, enumerable: true, configurable: true });
  }
  return object;
};

// A table of rules, in the form of `table_literal` in `build.py`.
const $table = (value) => {
  if (typeof value === "string") return value.startsWith(" ") ? value.slice(1).split(" ") : value;
  if (Array.isArray(value)) return value.map($rule);
  if (typeof value !== "object") return $from(value);
  return $dict(Object.entries(value).map(([key, part]) => [key, $table(part)]));
};
const $rule = ([patterns, targets, severity, reason, fix = "", others]) =>
  $table({ "patterns": patterns, "targets": targets, "severity": severity, "reason": reason, "fix": fix, ...others });

const $call = (owner, name, builtin, ...values) =>
  typeof owner === "string" || owner instanceof Map || owner instanceof Set || Array.isArray(owner)
    ? builtin(owner, ...values)
    : owner[name](...values);
