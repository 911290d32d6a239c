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
const $advertise = (schema, { rename = false } = {}) => $projection(advertise($from(schema), rename));
const $project = (schema, target, { rename = null } = {}) => $projection(project($from(schema), target, rename));
const $check = (schema, target) => check($from(schema), target).map($finding);
const $report = (schemas, target = Target.MCP) => report($from(schemas), target);
const $targets = Object.freeze([...Target, ...hosts().keys()]);

export { $advertise as advertise, $project as project, $check as check, $report as report, $targets as targets };
