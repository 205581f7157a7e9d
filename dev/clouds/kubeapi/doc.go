// Package kubeapi simulates an API server, for simulators of clusters whose objects are machines: paths,
// objects in memory with versions and owners, paginated lists that lag, users with tokens and the permissions
// that they have used.
//
// A simulator embeds a [Server], and implements its behaviour in a [Controller].
package kubeapi
