// Package install installs Millwright as a user does, on a node where containers really run: a control plane, containerd and a
// kubelet, in network, mount and process namespaces of their own, on a machine of which nothing is needed but root. `make test-install`.
package install
