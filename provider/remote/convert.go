package remote

import (
	"cmp"
	"errors"
	"maps"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/remote/wire"
)

// pair is a word of the contract and its number on the wire.
type pair[W ~string, N comparable] struct {
	word   W
	number N
}

// words are the words of one enumeration.
type words[W ~string, N comparable] []pair[W, N]

// number returns the number of a word; zero for an unknown word.
func (w words[W, N]) number(word W) (n N) {
	for _, p := range w {
		if p.word == word {
			return p.number
		}
	}
	return n
}

// word returns the word of a number; empty for an unknown number.
func (w words[W, N]) word(number N) W {
	for _, p := range w {
		if p.number == number {
			return p.word
		}
	}
	return ""
}

var kinds = words[provider.Kind, wire.Kind]{
	{provider.Transient, wire.Kind_KIND_TRANSIENT},
	{provider.Throttled, wire.Kind_KIND_THROTTLED},
	{provider.Exhausted, wire.Kind_KIND_EXHAUSTED},
	{provider.Invalid, wire.Kind_KIND_INVALID},
	{provider.Denied, wire.Kind_KIND_DENIED},
	{provider.Conflict, wire.Kind_KIND_CONFLICT},
}

var scopes = words[provider.Scope, wire.Scope]{
	{provider.ScopeType, wire.Scope_SCOPE_TYPE},
	{provider.ScopeZone, wire.Scope_SCOPE_ZONE},
	{provider.ScopeAccount, wire.Scope_SCOPE_ACCOUNT},
}

var states = words[provider.State, wire.State]{
	{provider.Pending, wire.State_STATE_PENDING},
	{provider.Running, wire.State_STATE_RUNNING},
	{provider.Stopped, wire.State_STATE_STOPPED},
	{provider.Stopping, wire.State_STATE_STOPPING},
	{provider.Terminated, wire.State_STATE_TERMINATED},
}

// clean returns text in UTF-8, as the wire requires. One invalid tag of an instance must not make a listing
// fail.
func clean(text string) string { return strings.ToValidUTF8(text, "") }

func cleanMap(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[clean(k)] = clean(v)
	}
	return out
}

// each converts a list.
func each[A, B any](in []A, convert func(A) B) []B {
	out := make([]B, len(in))
	for n, a := range in {
		out[n] = convert(a)
	}
	return out
}

// failureOf converts err; nil for none.
func failureOf(err error) *wire.Failure {
	if err == nil {
		return nil
	}
	f := &wire.Failure{Kind: kinds.number(provider.KindOf(err)), Message: clean(provider.Clip(err.Error(), mostText))}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		f.Field, f.Scope = clean(e.Field), scopes.number(e.Scope)
		if e.After > 0 {
			f.After = durationpb.New(e.After)
		}
	}
	return f
}

// faultOf converts the fault of an instance.
func faultOf(e *provider.Error) *wire.Failure {
	if e == nil {
		return nil
	}
	f := failureOf(e)
	if f.Message = ""; e.Err != nil {
		f.Message = clean(provider.Clip(e.Err.Error(), mostText))
	}
	return f
}

// saidError is an error that the other side reported, with its text, which may name the field already.
type saidError struct {
	text string
	as   *provider.Error
}

func (e *saidError) Error() string { return e.text }

func (e *saidError) Unwrap() error { return e.as }

// toError returns the error in a reply; nil for none.
func toError(f *wire.Failure) error {
	if f == nil {
		return nil
	}
	e := toFault(f)
	return &saidError{text: e.Err.Error(), as: e}
}

// mostAfter is the longest pause that a provider can ask for. A pause of years would stop a machine
// forever.
const mostAfter = time.Hour

// toFault returns the fault of an instance; nil for none.
func toFault(f *wire.Failure) *provider.Error {
	if f == nil {
		return nil
	}
	e := &provider.Error{Kind: cmp.Or(kinds.word(f.GetKind()), provider.Transient)}
	e.Err = errors.New(cmp.Or(provider.Clip(f.GetMessage(), mostText), string(e.Kind)))
	e.After = min(max(f.GetAfter().AsDuration(), 0), mostAfter)
	switch e.Kind {
	case provider.Invalid:
		e.Field = provider.Clip(f.GetField(), mostName)
	case provider.Exhausted:
		e.Scope = scopes.word(f.GetScope())
	}
	return e
}

func classOf(c provider.Class) *wire.Class {
	out := &wire.Class{
		Api: c.API, Cluster: clean(c.Cluster), Owner: clean(c.Owner), Spec: c.Spec, Credentials: map[string][]byte{},
		Region: clean(c.Region), Zone: clean(c.Zone), NodeCapacity: map[string]string{}, DeclaredBy: objectRefOf(c.Object),
	}
	for key, value := range c.Credentials {
		out.Credentials[clean(key)] = value
	}
	for name, quantity := range c.NodeCapacity {
		out.NodeCapacity[clean(string(name))] = quantity.String()
	}
	return out
}

func toClass(c *wire.Class) (provider.Class, error) {
	out := provider.Class{
		API: c.GetApi(), Cluster: c.GetCluster(), Owner: c.GetOwner(), Spec: c.GetSpec(), Credentials: c.GetCredentials(),
		Region: c.GetRegion(), Zone: c.GetZone(), Object: toObjectRef(c.GetDeclaredBy()),
	}
	for name, text := range c.GetNodeCapacity() {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return out, provider.Errorf(provider.Invalid, "the class says that its nodes have %q of %s: %w", provider.Clip(text, 100), name, err)
		}
		if out.NodeCapacity == nil {
			out.NodeCapacity = corev1.ResourceList{}
		}
		out.NodeCapacity[corev1.ResourceName(name)] = quantity
	}
	return out, nil
}

func refOf(r provider.Ref) *wire.Ref {
	return &wire.Ref{Uid: r.UID, Namespace: r.Namespace, Name: r.Name, ProviderId: clean(r.ProviderID)}
}

func toRef(r *wire.Ref) provider.Ref {
	return provider.Ref{UID: r.GetUid(), Namespace: r.GetNamespace(), Name: r.GetName(), ProviderID: r.GetProviderId()}
}

func objectRefOf(r provider.ObjectRef) *wire.ObjectRef {
	return &wire.ObjectRef{ApiVersion: clean(r.APIVersion), Kind: clean(r.Kind), Namespace: clean(r.Namespace), Name: clean(r.Name)}
}

func toObjectRef(r *wire.ObjectRef) provider.ObjectRef {
	return provider.ObjectRef{APIVersion: r.GetApiVersion(), Kind: r.GetKind(), Namespace: r.GetNamespace(), Name: r.GetName()}
}

func instanceOf(i provider.Instance) *wire.Instance {
	out := &wire.Instance{
		Id: clean(i.ID), Uid: clean(i.UID), Name: clean(i.Name), Owner: clean(i.Owner), Namespace: clean(i.Namespace),
		ProviderId: clean(i.ProviderID), NodeName: clean(i.NodeName), Addresses: each(i.Addresses, addressOf),
		State: states.number(i.State), RawState: clean(provider.Clip(i.RawState, mostName)), Fault: faultOf(i.Fault), Uninitialized: i.Uninitialized,
		Type: clean(i.Type), Region: clean(i.Region), Zone: clean(i.Zone), Interruptible: i.Interruptible,
	}
	if !i.Created.IsZero() {
		out.Created = timestamppb.New(i.Created)
	}
	if i.Tags != nil {
		out.Tags = &wire.Tags{Items: cleanMap(i.Tags)}
	}
	return out
}

func addressOf(a corev1.NodeAddress) *wire.Address {
	return &wire.Address{Type: clean(string(a.Type)), Address: clean(a.Address)}
}

func toAddress(a *wire.Address) corev1.NodeAddress {
	return corev1.NodeAddress{Type: corev1.NodeAddressType(a.GetType()), Address: a.GetAddress()}
}

// toInstance converts an instance without checks; [checkInstance] checks it.
func toInstance(i *wire.Instance) provider.Instance {
	out := provider.Instance{
		ID: i.GetId(), UID: i.GetUid(), Name: i.GetName(), Owner: i.GetOwner(), Namespace: i.GetNamespace(),
		ProviderID: i.GetProviderId(), NodeName: i.GetNodeName(), State: states.word(i.GetState()), RawState: i.GetRawState(),
		Fault: toFault(i.GetFault()), Uninitialized: i.GetUninitialized(),
		Type: i.GetType(), Region: i.GetRegion(), Zone: i.GetZone(), Interruptible: i.GetInterruptible(),
	}
	if len(i.GetAddresses()) > 0 {
		out.Addresses = each(i.GetAddresses(), toAddress)
	}
	if i.GetCreated() != nil {
		out.Created = i.GetCreated().AsTime()
	}
	if i.GetTags() != nil {
		out.Tags = maps.Clone(i.GetTags().GetItems())
		if out.Tags == nil {
			out.Tags = map[string]string{}
		}
	}
	return out
}

func leftoverOf(l provider.Leftover) *wire.Leftover {
	return &wire.Leftover{Kind: clean(l.Kind), Id: clean(l.ID), Uid: clean(l.UID), Name: clean(l.Name), Owner: clean(l.Owner), Namespace: clean(l.Namespace)}
}

func toLeftover(l *wire.Leftover) provider.Leftover {
	return provider.Leftover{Kind: l.GetKind(), ID: l.GetId(), UID: l.GetUid(), Name: l.GetName(), Owner: l.GetOwner(), Namespace: l.GetNamespace()}
}

func choiceOf(c provider.Choice) *wire.Choice {
	return &wire.Choice{Name: clean(c.Name), Region: clean(c.Region), Zone: clean(c.Zone), Type: clean(c.Type), Equal: c.Equal}
}

func toChoice(c *wire.Choice) provider.Choice {
	return provider.Choice{Name: c.GetName(), Region: c.GetRegion(), Zone: c.GetZone(), Type: c.GetType(), Equal: c.GetEqual()}
}

func secretOf(r provider.SecretRef) *wire.SecretRef {
	return &wire.SecretRef{Namespace: clean(r.Namespace), Name: clean(r.Name)}
}

func toSecret(r *wire.SecretRef) provider.SecretRef {
	return provider.SecretRef{Namespace: r.GetNamespace(), Name: r.GetName()}
}

func sizeOf(s provider.Size) *wire.SizeReply {
	return &wire.SizeReply{
		Vcpu: s.VCPU, Gpu: s.GPU, MemoryMib: s.MemoryMiB, Architecture: clean(s.Architecture), MaxPods: s.MaxPods,
		EphemeralStorageMib: s.EphemeralStorageMiB, GpuResource: clean(string(s.GPUResource)), Labels: cleanMap(s.Labels),
		Taints: each(s.Taints, func(t corev1.Taint) *wire.Taint {
			return &wire.Taint{Key: clean(t.Key), Value: clean(t.Value), Effect: clean(string(t.Effect))}
		}),
	}
}

func toSize(s *wire.SizeReply) provider.Size {
	return provider.Size{
		VCPU: s.GetVcpu(), GPU: s.GetGpu(), MemoryMiB: s.GetMemoryMib(), Architecture: s.GetArchitecture(), MaxPods: s.GetMaxPods(),
		EphemeralStorageMiB: s.GetEphemeralStorageMib(), GPUResource: corev1.ResourceName(s.GetGpuResource()), Labels: s.GetLabels(),
		Taints: each(s.GetTaints(), func(t *wire.Taint) corev1.Taint {
			return corev1.Taint{Key: t.GetKey(), Value: t.GetValue(), Effect: corev1.TaintEffect(t.GetEffect())}
		}),
	}
}
