package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/provider"
)

// kernelArguments pass addresses to a guest before it has a network: for each static address a
// configuration, and the name servers. None if all devices use DHCP.
func (s creator) kernelArguments(ctx context.Context, r provider.Ref) (string, error) {
	var all []string
	for i, device := range s.plan.nics {
		addresses, gateway, err := claims{s.provider.config.Objects}.of(ctx, r, i, device)
		if err != nil {
			return "", err
		}
		if device.Gateway != "" || gateway == "" {
			gateway = device.Gateway
		}
		for _, a := range append(append([]string{}, device.IPAddrs...), addresses...) {
			said, err := kernelArgument(a, gateway)
			if err != nil {
				return "", provider.InvalidField(fmt.Sprintf("network.devices[%d]", i), "%w", err)
			}
			all = append(all, said)
		}
		if len(device.IPAddrs)+len(addresses) == 0 {
			continue
		}
		for _, n := range device.Nameservers {
			all = append(all, "nameserver="+bracketed(n))
		}
	}
	return strings.Join(all, " "), nil
}

// kernelArgument is ip=<address>::<gateway>:<mask>:::none, where IPv6 has brackets and the length of the
// prefix. A gateway of the other family is that of the device's other addresses.
func kernelArgument(address, gateway string) (string, error) {
	p, err := netip.ParsePrefix(address)
	if err != nil {
		return "", fmt.Errorf("%q is no address with the length of its prefix", address)
	}
	if g, err := netip.ParseAddr(gateway); err != nil || g.Is4() != p.Addr().Is4() {
		gateway = ""
	}
	mask := fmt.Sprint(p.Bits())
	if p.Addr().Is4() {
		mask = net.IP(net.CIDRMask(p.Bits(), 32)).String()
	}
	return fmt.Sprintf("ip=%s::%s:%s:::none", bracketed(p.Addr().String()), bracketed(gateway), mask), nil
}

func bracketed(address string) string {
	if strings.Contains(address, ":") {
		return "[" + address + "]"
	}
	return address
}

// ipam is the API by which addresses of pools are claimed.
const ipam = "ipam.cluster.x-k8s.io/"

var ipamVersions = []string{ipam + "v1beta1", ipam + "v1beta2"}

const (
	claimKind = "IPAddressClaim"
	// claimFinalizer keeps a claim, and so its address, while the machine's instance may use it.
	claimFinalizer = "machine.openshift.io/ip-claim-protection"
)

// claims are requests for addresses in the control cluster: one for each pool of each device. They are
// created with the machine, unless they exist, and released with it.
type claims struct{ objects provider.Objects }

// claimName is that of the claim for an address of the pool of a device, as the original has it.
func claimName(machine string, device, pool int) string {
	return fmt.Sprintf("%s-claim-%d-%d", machine, device, pool)
}

// unclaimed is how long to wait for an address.
const unclaimed = 15 * time.Second

// of are the addresses that pools have assigned to a device, with their prefixes, and the gateway. A clone
// is created when all addresses are assigned.
func (c claims) of(ctx context.Context, r provider.Ref, device int, d machinev1beta1.NetworkDeviceSpec) (addresses []string, gateway string, err error) {
	for i, pool := range d.AddressesFromPools {
		name := claimName(r.Name, device, i)
		field := fmt.Sprintf("network.devices[%d].addressesFromPools[%d]", device, i)
		if c.objects == nil {
			return nil, "", provider.InvalidField(field, "the controller has no access to the control cluster, in which it claims addresses from pools")
		}
		a, err := c.address(ctx, r, name, pool)
		if err != nil {
			return nil, "", fmt.Errorf("address of the pool %s %s (%s): %w", pool.Resource, pool.Name, field, err)
		}
		addresses = append(addresses, fmt.Sprintf("%s/%d", a.Address, a.Prefix))
		if a.Gateway != "" {
			gateway = a.Gateway
		}
	}
	return addresses, gateway, nil
}

// address is what an IPAddress has in its spec.
type address struct {
	Address string `json:"address"`
	Prefix  int    `json:"prefix"`
	Gateway string `json:"gateway"`
}

// leaving is the metadata of an object that may be under deletion: its address is soon another machine's.
type leaving struct {
	DeletionTimestamp string `json:"deletionTimestamp"`
}

func (l leaving) leaves() bool { return l.DeletionTimestamp != "" }

// address is the one that a claim is bound to. The claim is created if it does not exist.
func (c claims) address(ctx context.Context, r provider.Ref, claim string, pool machinev1beta1.AddressesFromPool) (a address, err error) {
	var bound struct {
		Metadata leaving `json:"metadata"`
		Status   struct {
			AddressRef struct {
				Name string `json:"name"`
			} `json:"addressRef"`
		} `json:"status"`
	}
	err = c.object(ctx, claimKind, r.Namespace, claim, &bound)
	if errors.Is(err, provider.ErrNoObject) {
		err = c.make(ctx, r, claim, pool)
	}
	if err != nil {
		return a, err
	}
	if bound.Metadata.leaves() {
		return a, &provider.Error{Kind: provider.Conflict, After: unclaimed, Err: fmt.Errorf("the IPAddressClaim %s is being deleted", claim)}
	}
	name := bound.Status.AddressRef.Name
	if name == "" {
		return a, &provider.Error{Kind: provider.Conflict, After: unclaimed, Err: fmt.Errorf("the IPAddressClaim %s is not bound to an address yet", claim)}
	}
	var given struct {
		Metadata leaving `json:"metadata"`
		Spec     address `json:"spec"`
	}
	err = c.object(ctx, "IPAddress", r.Namespace, name, &given)
	if errors.Is(err, provider.ErrNoObject) {
		err = &provider.Error{Kind: provider.Conflict, After: unclaimed, Err: err}
	}
	if err == nil && given.Metadata.leaves() {
		err = &provider.Error{Kind: provider.Conflict, After: unclaimed, Err: fmt.Errorf("the IPAddress %s is being deleted", name)}
	}
	return given.Spec, err
}

// object reads an object of the IPAM API into a value, in the version that the cluster serves.
func (c claims) object(ctx context.Context, kind, namespace, name string, into any) error {
	for _, version := range ipamVersions {
		raw, err := c.objects.Object(ctx, provider.ObjectRef{APIVersion: version, Kind: kind, Namespace: namespace, Name: name})
		if errors.Is(err, provider.ErrNoObject) {
			continue
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return fmt.Errorf("read %s %s: %w", kind, name, err)
		}
		return nil
	}
	return fmt.Errorf("%s %s in the namespace %s: %w", kind, name, namespace, provider.ErrNoObject)
}

// make creates a claim, in the first version that the cluster serves.
func (c claims) make(ctx context.Context, r provider.Ref, claim string, pool machinev1beta1.AddressesFromPool) error {
	store, ok := c.objects.(provider.ObjectStore)
	if !ok {
		return &provider.Error{Kind: provider.Conflict, After: unclaimed, Err: fmt.Errorf("there is no %s %s in the namespace %s", claimKind, claim, r.Namespace)}
	}
	var err error
	for _, version := range ipamVersions {
		raw, failed := json.Marshal(map[string]any{
			"apiVersion": version, "kind": claimKind,
			"metadata": map[string]any{
				"name": claim, "namespace": r.Namespace, "finalizers": []string{claimFinalizer},
				"ownerReferences": []any{map[string]any{
					"apiVersion": machinev1beta1.GroupVersion.String(), "kind": "Machine", "name": r.Name, "uid": r.UID,
				}},
			},
			"spec": map[string]any{"poolRef": map[string]string{"apiGroup": pool.Group, "kind": pool.Resource, "name": pool.Name}},
		})
		if failed != nil {
			return failed
		}
		if err = store.Keep(ctx, raw); !errors.Is(err, provider.ErrNoObject) {
			break
		}
	}
	return err
}

// release releases the claims of a deleted machine. For a machine without a namespace, such as an orphan,
// the namespace of the claims is unknown: they are deleted with the machine that owns them.
func (c claims) release(ctx context.Context, r provider.Ref, devices []machinev1beta1.NetworkDeviceSpec) error {
	store, ok := c.objects.(provider.ObjectStore)
	if !ok || r.Namespace == "" {
		return nil
	}
	for i, device := range devices {
		for j := range device.AddressesFromPools {
			for _, version := range ipamVersions {
				ref := provider.ObjectRef{APIVersion: version, Kind: claimKind, Namespace: r.Namespace, Name: claimName(r.Name, i, j)}
				if err := store.Release(ctx, ref, r.Name, claimFinalizer); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
