// Package quickstart types the commands of docs/quickstart.md, block by block, on a control plane that kwokctl starts: `make test-quickstart`. MILLWRIGHT_QUICKSTART_ASSETS
// names a folder with another etcd, kube-apiserver, kube-controller-manager and kube-scheduler than the box's, for another version of Kubernetes.
package quickstart
