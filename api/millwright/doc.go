// Package millwright is what Millwright adds to the objects of both APIs and of Kubernetes: annotations, a taint and two labels,
// all under the prefix millwright.dev/.
//
// [Keys] lists each of them with the objects that it may stand on, what its value must be, and what it does; the reference page
// docs/annotations.md is made from that. [Reader] reads values. The list is frozen: a key is API, and a new one takes the place
// of another.
package millwright

// Prefix begins every key.
const Prefix = "millwright.dev/"
