// Package rehearsal runs one story on each cloud. A fleet of both APIs starts, rolls, is drained, heals, loses and finds
// instances, has its controller killed and its credentials revoked, uses a second account, and is deleted. The programs are the
// real ones, with a real API server. They call simulators of the clouds by HTTP: `make test-story PROVIDER=aws`,
// docs/testing.md.
//
// The story does not depend on the cloud. The differences between clouds are in the examples, in the credentials of the
// simulators, and in the simulators. After each chapter, the instances are counted at the simulator and not in the objects.
//
// Another test kills the machine controller at each of its writes and calls: `make test-killed PROVIDER=aws`.
package rehearsal
