// Package drain decides which pods of a node to evict now, which pods to wait for, and which pods to leave alone.
//
// [Decide] judges one observation and never waits. The caller carries out the decision, keeps the results in a [Memory], and calls it again
// after Decision.Next. A drain that a disruption budget blocks for hours therefore costs one decision every few seconds, and occupies no
// worker.
//
// Pods are evicted, so that the API server honours disruption budgets. Decide reads budgets only to name the one that blocks; [Foresee]
// names those that will block before a drain begins.
//
// If [Policy] says so, pods with volumes leave one after another, and a drain ends only when the volumes of
// these pods are detached from the node.
package drain
