// Package examples carries the sample manifests of this folder inside
// binaries.
package examples

import "embed"

// FS holds the manifests as they are in this folder.
//
//go:embed *.yaml alicloud/*.yaml aws/*.yaml azure/*.yaml gcp/*.yaml ibmcloud/*.yaml kubevirt/*.yaml libvirt/*.yaml metal3/*.yaml nutanix/*.yaml openstack/*.yaml vsphere/*.yaml yandex/*.yaml
var FS embed.FS
