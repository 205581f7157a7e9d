// Package monitoring checks config/monitoring and config/dashboards. promtool runs the rule tests in this folder. The Go tests
// parse every query of the alerts and dashboards, and look up its metrics and labels in docs/metrics.md.
//
// It is its own Go module, because promtool and the parser of PromQL depend on the whole of Prometheus.
package monitoring
