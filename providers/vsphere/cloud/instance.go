package cloud

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// toInstances reports the virtual machines of the cluster. It reads what their options do not record only if
// it is needed: tags, the tasks of those that have not started, the zones of hosts.
func (s finder) toInstances(ctx context.Context, c *conn, all []*vm, r *provider.Ref, tagged tagging) ([]provider.Instance, error) {
	all = slices.DeleteFunc(slices.Clone(all), func(v *vm) bool { return v.template || v.uuid == "" || v.copied(s.class.API) })
	if len(all) == 0 {
		return nil, nil
	}
	if err := tagger(s).readTags(ctx, c, all, r, tagged); err != nil {
		return nil, err
	}
	k, err := s.describeInput(ctx, c, all)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(v *vm) bool { return !tagger(s).inScope(v, v.named(k.fields), k.clusterTag, r) })
	if err := s.readDetails(ctx, c, all, r, k); err != nil {
		return nil, err
	}
	out := make([]provider.Instance, 0, len(all))
	for _, v := range all {
		out = append(out, s.toInstance(v, r, k))
	}
	return out, nil
}

// describeInput is the data for the description of instances.
type describeInput struct {
	clusterTag string
	wanted     []string // tags
	fields     map[int32]string
	zones      map[ref]zone
	tasks      map[ref][]types.TaskInfo
	power      map[ref]powerOnTask
}

// describeInput reads it, once the tags of the virtual machines are known, or known to be unavailable.
func (s finder) describeInput(ctx context.Context, c *conn, of []*vm) (k *describeInput, err error) {
	k = &describeInput{power: map[ref]powerOnTask{}}
	if s.class.API == provider.Gardener {
		k.fields, err = fieldsOf(ctx, c, of)
		return k, err
	}
	if slices.ContainsFunc(of, func(v *vm) bool { return v.tagsUnknown }) {
		return k, nil
	}
	if k.clusterTag, err = tagger(s).clusterTag(ctx, c); err != nil {
		return nil, err
	}
	k.wanted, err = tagger(s).wantedTags(ctx, c)
	return k, err
}

// readDetails reads data that only some of the virtual machines need.
func (s finder) readDetails(ctx context.Context, c *conn, all []*vm, r *provider.Ref, k *describeInput) (err error) {
	if s.clusterConfig.region != "" || s.clusterConfig.zone != "" {
		if k.zones, err = s.clusterConfig.zonesOf(ctx, c, all); err != nil {
			return err
		}
	}
	idle := slices.DeleteFunc(slices.Clone(all), func(v *vm) bool { return !s.idle(v, r, k) })
	if len(idle) == 0 {
		return nil
	}
	if k.tasks, err = c.recent(ctx, idle); err != nil {
		return err
	}
	for _, v := range idle {
		if k.power[v.ref], err = s.powerOnTask(ctx, c, v, k.tasks[v.ref]); err != nil {
			return err
		}
	}
	return nil
}

// idle reports whether a virtual machine was created here, or half created by the original, and has never
// run.
func (s finder) idle(v *vm, r *provider.Ref, k *describeInput) bool {
	return v.power == types.VirtualMachinePowerStatePoweredOff && s.ours(v, r) && !s.started(v, k)
}

func (s finder) ours(v *vm, r *provider.Ref) bool {
	return v.extra[keyUID] != "" || r != nil && bears(s.session, v, *r)
}

// started reports whether a virtual machine runs, or has run.
func (s finder) started(v *vm, k *describeInput) bool {
	return v.power != types.VirtualMachinePowerStatePoweredOff || s.plan == nil || s.noted(v, k)
}

// noted reports whether there is evidence that a virtual machine has run: the option that is written as
// soon as it runs, or a tag or attribute, which are only added after the start. A virtual machine of
// another implementation may have had tags that are unknown now.
func (s finder) noted(v *vm, k *describeInput) bool {
	return v.extra[keyStarted] != "" || tagger(s).marked(v, k) || v.tagsUnknown && v.extra[keyTemplate] == ""
}

// toInstance converts a virtual machine.
func (s finder) toInstance(v *vm, r *provider.Ref, k *describeInput) provider.Instance {
	i := provider.Instance{
		ID: v.instanceUUID, UID: v.extra[keyUID], Name: cmp.Or(v.extra[keyName], v.name), Owner: v.extra[keyOwner], Namespace: v.extra[keyNamespace],
		RawState: string(v.power), State: stateOf(v.power), Created: v.created, Tags: tagsFor(v, k), Addresses: s.addresses(v),
		Region: cmp.Or(k.zones[hostOf(v)].region, s.region()), Zone: k.zones[hostOf(v)].zone,
	}
	i.ProviderID = providerID(s.class.API, s.region(), v.uuid)
	if s.class.API == provider.Gardener {
		i.NodeName = i.Name
	}
	s.initialization(&i, v, r, k)
	return i
}

func stateOf(p types.VirtualMachinePowerState) provider.State {
	if p == types.VirtualMachinePowerStatePoweredOn {
		return provider.Running
	}
	return provider.Stopped // off, or suspended
}

// addressPatience is how long a new virtual machine without addresses is Pending. A guest without tools
// never reports any.
const addressPatience = 5 * time.Minute

// initialization sets how far the initialization of an instance of this provider has come.
func (s finder) initialization(i *provider.Instance, v *vm, r *provider.Ref, k *describeInput) {
	if s.plan == nil || !s.ours(v, r) {
		return
	}
	switch p := k.power[v.ref]; {
	case s.idle(v, r, k) && p.underWay:
		i.State, i.RawState = provider.Pending, "powering on"
	case s.idle(v, r, k):
		i.Fault = p.fault
		i.Uninitialized = p.fault == nil
	case i.State == provider.Running:
		young := s.provider.config.Clock.Now().Sub(v.created) < addressPatience
		if len(i.Addresses) == 0 && (s.plan.placement.wait || young) {
			i.State, i.RawState = provider.Pending, "waiting for an address"
		}
		i.Uninitialized = !s.noted(v, k)
	}
}

func (s *session) region() string {
	if s.plan != nil && s.plan.region != "" {
		return s.plan.region
	}
	return s.class.Region
}

func hostOf(v *vm) ref {
	if v.host == nil {
		return ref{}
	}
	return *v.host
}

// Entries among the tags of an instance that are no tags: hardware, for the comparison with a spec; a
// missing tag of the cluster, whose ID the spec does not have; and unknown tags.
const (
	tagCPUs    = "numCPUs"
	tagMemory  = "memoryMiB"
	tagLacks   = "lacks the tag"
	tagUnknown = "tags are unknown"
)

func tagsFor(v *vm, k *describeInput) map[string]string {
	all := maps.Clone(v.extra)
	maps.Copy(all, v.named(k.fields))
	all[tagCPUs], all[tagMemory] = strconv.Itoa(int(v.cpus)), strconv.Itoa(int(v.memoryMiB))
	for _, id := range v.tags {
		all[id] = ""
	}
	if v.tagsUnknown {
		all[tagUnknown] = "true"
	}
	if k.clusterTag != "" && !slices.Contains(v.tags, k.clusterTag) {
		all[tagLacks] = k.clusterTag
	}
	return all
}

// addresses are those that the tools in the guest report, network card by network card, and the name of the
// virtual machine, as in OpenShift's provider. It leaves out addresses that belong to none of the virtual
// machine's cards, such as bridges of containers, and link-local ones.
func (s finder) addresses(v *vm) (all []corev1.NodeAddress) {
	cards := slices.Clone(v.nics)
	slices.SortStableFunc(cards, func(a, b types.GuestNicInfo) int { return cmp.Compare(a.DeviceConfigId, b.DeviceConfigId) })
	for _, card := range cards {
		if card.DeviceConfigId < 0 {
			continue
		}
		for _, address := range card.IpAddress {
			if ip, err := netip.ParseAddr(address); err == nil && !ip.IsLinkLocalUnicast() && !ip.IsLoopback() {
				all = append(all, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
			}
		}
	}
	if len(all) == 0 || s.class.API == provider.Gardener {
		return all
	}
	all = append(all, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: v.name})
	if v.guestName != "" && !strings.EqualFold(v.guestName, v.name) {
		all = append(all, corev1.NodeAddress{Type: corev1.NodeHostName, Address: v.guestName})
	}
	return all
}

// Differences implements [provider.Session].
func (s *session) Differences(_ provider.Ref, i provider.Instance) (all []string) {
	if s.plan == nil {
		return nil
	}
	note := func(name, has, says string) {
		if has != "" && says != "" && says != "0" && has != says {
			all = append(all, s.plan.field(name)+": the instance has "+strconv.Quote(has)+", the spec says "+strconv.Quote(says))
		}
	}
	note("template", i.Tags[keyTemplate], s.plan.template)
	cpus, memory := "numCPUs", "memoryMiB"
	if s.class.API == provider.Gardener {
		cpus, memory = "numCpus", "memory"
	}
	note(cpus, i.Tags[tagCPUs], strconv.Itoa(int(s.plan.cpus)))
	note(memory, i.Tags[tagMemory], strconv.FormatInt(s.plan.memoryMiB, 10))
	return all
}
