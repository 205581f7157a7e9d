// Package reference is a driver for OpenStack in the form of third-party drivers: it identifies machines by
// name and tags, stores nothing between calls, logs in for each call, polls until a call is complete, and
// returns its errors as codes. It calls the simulator of OpenStack in dev/clouds, against which adapters are
// tested, and has only the parts of OpenStack that it needs.
package reference
