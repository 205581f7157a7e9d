// Package rehearsal tells one story on each cloud: a fleet of both APIs comes up, rolls, is drained, heals, loses and finds instances,
// has its controller killed and its credentials revoked, uses a second account, and goes. The programs are the real ones, before a real
// API server, and ask doubles of the clouds by HTTP: `make test-story PROVIDER=aws`, docs/testing.md.
//
// The story knows no cloud: whatever differs between them is in the examples, in what doubles issue, and in doubles. After each chapter
// instances are counted at the double and not by what objects say.
//
// Another test kills the machine controller at each of its writes and calls: `make test-killed PROVIDER=aws`.
package rehearsal
