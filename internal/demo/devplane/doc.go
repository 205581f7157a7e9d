// Package devplane runs a real Kubernetes control plane on this machine without root, containers or downloads of binaries:
// etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok and hollow kubelets, built once from pinned Go
// modules (the module in dev/) into a cache.
//
// Ensure provides the programs, Start starts a control plane, Find returns one that an earlier process left running. Everything
// listens on loopback, and a control plane writes only below its folder:
//
//	state.json          the running processes, for Find and Stop
//	admin.kubeconfig    cluster administrator
//	pki/, etcd/, logs/  certificates, data, one log per component
package devplane
