const $finding = (finding) => ({
  "path": finding.path,
  "pointer": finding.pointer,
  "pattern": finding.pattern,
  "severity": finding.severity,
  "lossy": finding.lossy,
  "message": finding.message,
  "reason": finding.reason,
  "fix": finding.fix,
  "opensObject": finding.opens_object,
  "clients": finding.clients,
  "providers": finding.providers,
  "share": finding.share,
});
const $projection = (projection) => ({
  "schema": $to(projection.schema),
  "findings": projection.findings.map($finding),
  "renamed": $to(projection.renamed),
  "narrows": projection.narrows,
});
const $targets = Object.freeze([...Target, ...hosts().keys()]);
const $known = (target) => {
  if (!$targets.includes(target)) throw new RangeError(`unknown target \`${target}\`; use one of ${$targets.join(", ")}`);
  return target;
};
// The quotes keep the names of options and results when names of attributes are shortened.
const $rename = (options) => options?.["rename"] ?? null;
const $advertise = (schema, options) => $projection(advertise($from(schema), $rename(options) ?? false));
const $project = (schema, target, options) => $projection(project($from(schema), $known(target), $rename(options)));
const $check = (schema, target) => check($from(schema), $known(target)).map($finding);
const $report = (schemas, target = Target.MCP) => {
  if (typeof schemas !== "object" || schemas === null) throw new TypeError("`schemas` must be an object of schemas by name");
  // A tool without a schema is reported too.
  const entries = Object.entries(schemas).map(([name, schema]) => [name, $from(schema ?? null)]);
  return report($dict(entries), $known(target));
};

export { $advertise as advertise, $project as project, $check as check, $report as report, $targets as targets };
