// Package drain decides which pods of a node are asked to leave now, which are
// waited for, and which stay.
//
// [Decide] looks at one observation and never waits: whoever calls it carries
// out what the decision allows, keeps what came of it and what was seen in a
// [Memory], and asks again after Decision.Next. So a drain that a budget blocks for hours
// costs one look every few seconds and holds nobody up.
//
// Pods are evicted, so that disruption budgets are honoured; the API server
// has the last word on those. The budgets handed in only serve to name what
// blocks, and what will block: [Foresee] says that before a drain begins.
//
// Where the policy says so, pods with volumes leave one after another, and no
// drain is done while a volume that it is about is attached to the node.
package drain
