// Package chart compares charts/millwright with the build of config/. It installs the chart on a real API server with Helm,
// pushes it to a registry, and runs its test.
//
// It is its own Go module, because Helm has many dependencies that nothing else needs.
package chart
