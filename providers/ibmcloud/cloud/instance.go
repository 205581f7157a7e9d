package cloud

import (
	"cmp"
	"context"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// The states of VPC that the provider distinguishes.
const (
	statusDeleting = "deleting"
	statusFailed   = "failed"
	statusPending  = "pending"
	statusStarting = "starting"
	statusStopped  = "stopped"
	statusStopping = "stopping"
)

// states maps the states of VPC. A stopping instance is off once it is stopped.
var states = map[string]provider.State{
	statusPending: provider.Pending, statusStarting: provider.Pending, "running": provider.Running, "restarting": provider.Running, statusStopping: provider.Running,
	statusStopped: provider.Stopped, statusFailed: provider.Stopped, statusDeleting: provider.Stopping,
}

// toInstance converts an instance. An instance whose deletion VPC has accepted is under deletion, whatever
// state it still shows.
func (s finder) toInstance(ctx context.Context, c *client, i *instance) (provider.Instance, error) {
	t, err := c.tokens.get(ctx)
	if err != nil {
		return provider.Instance{}, s.observe("ask for the account of the API key", err)
	}
	m := marksOf(i)
	out := provider.Instance{
		ID: i.ID, UID: m.uid, Name: i.Name, Owner: m.owner, Namespace: m.namespace, ProviderID: s.providerID(t.account, i.ID), NodeName: i.Name, Addresses: addressesOf(i),
		State: cmp.Or(states[i.Status], provider.Pending), RawState: i.Status, Fault: faultOf(i), Type: i.Profile.Name, Region: c.region, Zone: i.Zone.Name, Created: i.CreatedAt,
	}
	if out.Fault != nil {
		out.State = provider.Stopped
	}
	if _, leaving := c.leaving.Recall(i.ID); leaving {
		out.State = provider.Stopping
	}
	return out, nil
}

// startFailure is the begin of the reasons of VPC for an instance that did not start.
const startFailure = "cannot_start"

// faultOf is the reason for which VPC failed an instance that it had accepted; nil without a failure. VPC
// reports missing capacity in this way only, and does not start the instance again by itself.
func faultOf(i *instance) *provider.Error {
	var why *statusReason
	for n := range i.StatusReasons {
		if strings.HasPrefix(i.StatusReasons[n].Code, startFailure) || why == nil {
			why = &i.StatusReasons[n]
		}
	}
	switch {
	case i.Status == statusFailed && why == nil:
		return provider.Errorf(provider.Invalid, "the instance has failed, and VPC does not say why")
	case i.Status == statusFailed, i.Status == statusStopped && why != nil && strings.HasPrefix(why.Code, startFailure):
	default:
		return nil
	}
	switch why.Code {
	case "cannot_start_capacity", "cannot_start_placement_group", "cannot_start_reservation_capacity", "cannot_start_reservation_expired":
		return provider.ExhaustedIn(provider.ScopeType, "%s: %s", why.Code, why.Message)
	case "encryption_key_deleted":
		return provider.InvalidField("bootVolume.encryptionKey", "%s: %s", why.Code, why.Message)
	}
	return provider.Errorf(provider.Invalid, "%s: %s", why.Code, why.Message)
}

// providerID is in the format of the original, and of the cloud controller manager.
func (s finder) providerID(account, id string) string {
	return "ibm://" + account + "///" + s.class.Cluster + "/" + id
}

var instanceID = regexp.MustCompile(`(?i)^ibm://[^/]*///([^/]+)/([a-z0-9_-]+)$`)

// idOf is the instance that a provider ID names; empty if it names none.
func idOf(providerID string) string {
	if m := instanceID.FindStringSubmatch(providerID); m != nil {
		return strings.ToLower(m[2])
	}
	return ""
}

// clusterOf is the cluster that a provider ID names, in lower case.
func clusterOf(providerID string) string {
	if m := instanceID.FindStringSubmatch(providerID); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}

// identify is [provider.Traits].Identify.
func identify(providerID string) string {
	if id := idOf(providerID); id != "" {
		return "ibm://" + id
	}
	return ""
}

// addressesOf are the name, which is the host name, and the address of the primary network interface. Until
// it has one, VPC shows 0.0.0.0.
func addressesOf(i *instance) (out []corev1.NodeAddress) {
	out = append(out, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: i.Name})
	if i.Primary != nil && i.Primary.PrimaryIP.Address != "" && i.Primary.PrimaryIP.Address != "0.0.0.0" {
		out = append(out, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: i.Primary.PrimaryIP.Address})
	}
	return out
}
