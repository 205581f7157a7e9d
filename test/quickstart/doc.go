// Package quickstart runs the commands of docs/quickstart.md, block by block, on a control plane that kwokctl starts: `make
// test-quickstart`. To test another version of Kubernetes, set MILLWRIGHT_QUICKSTART_ASSETS to a folder with its etcd,
// kube-apiserver, kube-controller-manager and kube-scheduler.
package quickstart
