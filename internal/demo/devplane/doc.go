// Package devplane runs a real Kubernetes control plane on this machine without root, containers or downloads of binaries:
// etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok and hollow kubelets, built once from pinned Go
// modules (the module in dev/) into a cache.
//
// Ensure provides the programs, Start a control plane, Find one that an earlier process left running. Everything listens
// on loopback, and everything a control plane writes is below its folder:
//
//	state.json          what runs, for Find and Stop
//	admin.kubeconfig    cluster administrator
//	pki/, etcd/, logs/  certificates, data, one log per component
package devplane
