// Package kubeapi plays an API server, for doubles of clusters whose objects are machines: paths, objects in memory with versions and
// owners, lists in pages that run behind, users with tokens and the rights that they made use of.
//
// A double embeds a [Server], and says what stands behind it by a [Controller].
package kubeapi
