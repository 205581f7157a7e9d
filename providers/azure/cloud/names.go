package cloud

import (
	"strconv"
	"strings"
)

// names are those of the resources of a machine, as in the original of the API.
type names struct {
	osDisk string // suffix to the machine's
	// disk is the name of a data disk.
	disk func(machine, name string, lun int32) string
}

var (
	openshiftNames = names{osDisk: "_OSDisk", disk: func(machine, suffix string, _ int32) string { return machine + "_" + suffix }}
	gardenerNames  = names{osDisk: "-os-disk", disk: func(machine, name string, lun int32) string {
		if name != "" {
			machine += "-" + name
		}
		return machine + "-" + strconv.Itoa(int(lun)) + "-data-disk"
	}}
)

// The suffixes of interfaces and of Gardener's data disks, in both APIs.
const (
	nicSuffix      = "-nic"
	dataDiskSuffix = "-data-disk"
)

// madeFor is the name of the machine that a resource was created for; empty if the name has none.
func madeFor(resource string) string {
	for _, suffix := range []string{nicSuffix, openshiftNames.osDisk, gardenerNames.osDisk} {
		if machine, ok := strings.CutSuffix(resource, suffix); ok {
			return machine
		}
	}
	return ""
}

// resourceID identifies a resource by its ID.
type resourceID struct{ subscription, group, name string }

// parseID reads the ID of a resource, or the provider ID of OpenShift.
func parseID(id string) (p resourceID, ok bool) {
	if rest, ok := cutFold(id, "azure://"); ok {
		id = rest
	}
	s := strings.Split(id, "/") // "", subscriptions, s, resourceGroups, g, providers, p, kind, name
	if len(s) != 9 || !strings.EqualFold(s[1], "subscriptions") || !strings.EqualFold(s[3], "resourceGroups") {
		return p, false
	}
	return resourceID{subscription: s[2], group: s[4], name: s[8]}, true
}

// base is the last part of an ID.
func base(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// machineID is the ID of a virtual machine as this provider spells it. Azure has several spellings.
func machineID(subscription, group, name string) string {
	return "/subscriptions/" + strings.ToLower(subscription) + "/resourceGroups/" + strings.ToLower(group) + "/providers/Microsoft.Compute/virtualMachines/" + name
}

// key identifies a virtual machine, whatever the spelling of its ID.
func (p resourceID) key() string { return strings.ToLower(machineID(p.subscription, p.group, p.name)) }

// formatID is that of another resource, as Azure requires it.
func formatID(subscription, group, provider, kind, name string) string {
	return "/subscriptions/" + subscription + "/resourceGroups/" + group + "/providers/" + provider + "/" + kind + "/" + name
}

// setOf is the name of the set that created a machine: generated names are the set's, a dash, and five
// letters of the API server's.
func setOf(machine string) string {
	cut := len(machine) - 6
	if cut <= 0 || machine[cut] != '-' || strings.Trim(machine[cut+1:], "bcdfghjklmnpqrstvwxz2456789") != "" {
		return ""
	}
	return machine[:cut]
}

// mostSetName is the maximal length of an availability set's name without its last letters.
const mostSetName = 77

// availabilitySetName is the name that the original of OpenShift gives to the set of a machine set's
// machines.
func availabilitySetName(cluster, machineSet string) string {
	name := machineSet
	if !strings.HasPrefix(machineSet, cluster) {
		name = cluster + "_" + machineSet
	}
	return name[:min(len(name), mostSetName)] + "-as"
}
