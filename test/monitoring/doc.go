// Package monitoring holds config/monitoring and config/dashboards to PromQL: the rule tests beside it are run by promtool, and its
// own tests parse every query of the alerts and dashboards and look its metrics and labels up in docs/metrics.md.
//
// It is a Go module of its own, because promtool and the parser of PromQL come with the whole of Prometheus.
package monitoring
