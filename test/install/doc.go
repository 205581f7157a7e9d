// Package install installs Millwright as a user does, on a node that runs real containers. The control plane, containerd and a
// kubelet run in their own network, mount and process namespaces. The computer needs only root. `make test-install`.
package install
