// Package runbooks holds the alerts of config/monitoring to what belongs to them: the plain rule files, and the pages of
// docs/runbooks with their index. What needs PromQL is tested by test/monitoring, a module of its own.
package runbooks
