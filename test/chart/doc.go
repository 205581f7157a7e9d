// Package chart holds charts/millwright to what config/ is made into, and installs it on a real API server as Helm does, and has Helm push it to a registry and test it.
//
// It is a Go module of its own, because Helm comes with much that nothing else needs.
package chart
