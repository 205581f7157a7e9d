// Package reference is an actuator in the shape of those that others have written: it reads its
// secrets by itself, logs in for each call, knows servers by the machine's name and the cluster,
// may block until they are up, patches the Machine, and has errors of its own for what the
// controller is to do.
package reference
