package cloud

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// toInstance converts a server of Nova.
func (s scope) toInstance(c *client, v servers.Server) provider.Instance {
	o := ownedByMetadata(v.Metadata)
	i := provider.Instance{
		ID: v.ID, UID: o.uid, Name: v.Name, Owner: o.owner, Namespace: o.namespace, ProviderID: s.providerID(v.ID, c.region),
		// The node has the server's name: cloud-provider-openstack requires that.
		NodeName: v.Name, Addresses: addresses(v), State: state(v), RawState: rawState(v), Type: flavorName(v), Region: c.region,
		Zone: v.AvailabilityZone, Created: v.Created, Tags: allTags(v),
	}
	if v.Status == "ERROR" && v.LaunchedAt.IsZero() && i.State != provider.Stopping {
		giveUp(&i, v, c.clock.Now())
	}
	return i
}

// causeLate is how long after a server went into ERROR Nova may still be about to store the cause: it does
// so in another step.
const causeLate = time.Minute

// giveUp sets the fault of a server that never ran. Until Nova has stored the cause, the server stays
// Pending.
func giveUp(i *provider.Instance, v servers.Server, now time.Time) {
	switch {
	case v.Fault.Message != "":
		i.Fault = faultOf(v.Fault.Message)
	case now.Sub(v.Updated) < causeLate:
		i.State = provider.Pending
	default:
		i.Fault = faultOf("the server is in ERROR, and Nova does not say why")
	}
}

// states maps Nova's states; a state that is not here is obsolete, or means running.
var states = map[string]provider.State{
	"BUILD": provider.Pending, "REBUILD": provider.Pending,
	"ACTIVE": provider.Running, "REBOOT": provider.Running, "HARD_REBOOT": provider.Running, "PASSWORD": provider.Running,
	"RESIZE": provider.Running, "VERIFY_RESIZE": provider.Running, "REVERT_RESIZE": provider.Running, "MIGRATING": provider.Running,
	"SHUTOFF": provider.Stopped, "SUSPENDED": provider.Stopped, "PAUSED": provider.Stopped, "SHELVED": provider.Stopped,
	"SHELVED_OFFLOADED": provider.Stopped, "RESCUE": provider.Stopped, "ERROR": provider.Stopped,
	"DELETED": provider.Terminated, "SOFT_DELETED": provider.Terminated,
}

func state(v servers.Server) provider.State {
	st, known := states[v.Status]
	switch {
	case st == provider.Terminated:
		return st
	case v.TaskState == "deleting" || v.TaskState == "soft-deleting":
		return provider.Stopping
	case known:
		return st
	}
	return provider.Running
}

func rawState(v servers.Server) string {
	if v.TaskState != "" {
		return v.Status + " (" + v.TaskState + ")"
	}
	return v.Status
}

func flavorName(v servers.Server) string {
	name, _ := v.Flavor["original_name"].(string)
	return name
}

// allTags are the metadata, and the tags as keys without value, unless metadata has the key.
func allTags(v servers.Server) map[string]string {
	all := map[string]string{}
	for _, t := range tagsOf(v) {
		key, value, _ := strings.Cut(t, "=")
		all[key] = value
	}
	for key, value := range v.Metadata {
		all[key] = value
	}
	return all
}

// addresses are those of the networks, in a stable order, and the host names as in the original: the
// server's name.
func addresses(v servers.Server) (out []corev1.NodeAddress) {
	names := make([]string, 0, len(v.Addresses))
	for network := range v.Addresses {
		names = append(names, network)
	}
	slices.Sort(names)
	for _, network := range names {
		for _, a := range addressesOf(v.Addresses[network]) {
			kind := corev1.NodeInternalIP
			if a.Type == "floating" {
				kind = corev1.NodeExternalIP
			}
			out = append(out, corev1.NodeAddress{Type: kind, Address: a.Addr})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append(out, corev1.NodeAddress{Type: corev1.NodeHostName, Address: v.Name}, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: v.Name})
}

type shownAddress struct {
	Addr string `json:"addr"`
	Type string `json:"OS-EXT-IPS:type"`
}

func addressesOf(shown any) (all []shownAddress) {
	raw, err := json.Marshal(shown)
	if err != nil {
		return nil
	}
	_ = json.Unmarshal(raw, &all)
	slices.SortFunc(all, func(a, b shownAddress) int { return strings.Compare(a.Type+a.Addr, b.Type+b.Addr) })
	return all
}
