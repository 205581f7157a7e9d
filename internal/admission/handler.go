package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/provider"
)

// Options are the options of handlers.
type Options struct {
	// Admitters have the rules of infrastructures, by the type of platform: "AWS". A type without an entry
	// has no rules.
	Admitters Admitters
	// Cluster returns the present facts about the cluster.
	Cluster func() Cluster
	// Secrets reads secrets by name.
	Secrets client.Reader
	// Events stores events about deletions; nil: deletions are not recorded.
	Events client.Writer
	Clock  clock.PassiveClock
	Log    logr.Logger
}

// Paths of the original.
const (
	defaultMachinePath     = "/mutate-machine-openshift-io-v1beta1-machine"
	defaultMachineSetPath  = "/mutate-machine-openshift-io-v1beta1-machineset"
	validateMachinePath    = "/validate-machine-openshift-io-v1beta1-machine"
	validateMachineSetPath = "/validate-machine-openshift-io-v1beta1-machineset"
)

// Handlers answer API servers, by path.
func Handlers(o Options) map[string]http.Handler {
	h := handler{o}
	out := map[string]http.Handler{
		defaultMachinePath:     h.hook(h.defaultMachine),
		defaultMachineSetPath:  h.hook(h.defaultMachineSet),
		validateMachinePath:    h.hook(h.validateMachine),
		validateMachineSetPath: h.hook(h.validateMachineSet),
	}
	for path, newObject := range warned() {
		out[path] = h.hook(func(_ context.Context, r webhook.Request) (webhook.Response, error) {
			return h.warn(r, newObject())
		})
	}
	maps.Copy(out, h.deletions())
	return out
}

type handler struct{ Options }

// hook makes a webhook from a function. An object that the function cannot judge is allowed, with a
// warning: a failing webhook must not block any user, and one that is down does not either.
func (h handler) hook(judge func(context.Context, webhook.Request) (webhook.Response, error)) http.Handler {
	return &webhook.Webhook{Handler: webhook.HandlerFunc(func(ctx context.Context, r webhook.Request) (answer webhook.Response) {
		fail := func(err error) {
			h.Log.Error(err, "Cannot judge an object, and let it pass", "resource", r.Resource.Resource, "namespace", r.Namespace, "name", r.Name)
			answer = webhook.Allowed("").WithWarnings("not judged: " + err.Error())
		}
		defer func() {
			if p := recover(); p != nil {
				h.Log.V(1).Info("A rule panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				fail(fmt.Errorf("a rule failed: %v", p))
			}
		}()
		answer, err := judge(ctx, r)
		if err != nil {
			fail(err)
		}
		return answer
	})}
}

// rules are the rules for the present facts about the cluster.
func (h handler) rules() Rules {
	c := h.Cluster()
	return Rules{Admitter: h.Admitters[c.Type], Platform: c.Platform}
}

func (h handler) defaultMachine(_ context.Context, r webhook.Request) (webhook.Response, error) {
	m := &machinev1.Machine{}
	if err := decode(r.Object.Raw, m); err != nil {
		return webhook.Response{}, err
	}
	d, faults := h.rules().DefaultMachine(m)
	return filled(r.Object.Raw, d, faults, "spec", "providerSpec", "value")
}

func (h handler) defaultMachineSet(_ context.Context, r webhook.Request) (webhook.Response, error) {
	s := &machinev1.MachineSet{}
	if err := decode(r.Object.Raw, s); err != nil {
		return webhook.Response{}, err
	}
	d, faults := h.rules().DefaultMachineSet(s)
	return filled(r.Object.Raw, d, faults, "spec", "template", "spec", "providerSpec", "value")
}

func (h handler) validateMachine(ctx context.Context, r webhook.Request) (webhook.Response, error) {
	m, old, err := written[machinev1.Machine](r)
	if err != nil {
		return webhook.Response{}, err
	}
	return h.answer(ctx, r, h.rules().Machine(m, old), m), nil
}

func (h handler) validateMachineSet(ctx context.Context, r webhook.Request) (webhook.Response, error) {
	s, old, err := written[machinev1.MachineSet](r)
	if err != nil {
		return webhook.Response{}, err
	}
	return h.answer(ctx, r, h.rules().MachineSet(s, old), s), nil
}

// warn warns of the faults that controllers will report on an object, and refuses nothing.
func (h handler) warn(r webhook.Request, o client.Object) (webhook.Response, error) {
	if err := decode(r.Object.Raw, o); err != nil {
		return webhook.Response{}, err
	}
	return webhook.Allowed("").WithWarnings(h.faults(o)...), nil
}

// faults are the faults that controllers will report on o, unless it is under deletion.
func (h handler) faults(o client.Object) (out []string) {
	if o.GetDeletionTimestamp() != nil {
		return nil
	}
	for _, f := range apis.Faults(o, h.Clock.Now()) {
		out = append(out, f.String())
	}
	for _, d := range apis.Doubts(o) {
		if f := d.String(); !slices.ContainsFunc(out, func(said string) bool { return strings.HasPrefix(said, d.Field+":") }) {
			out = append(out, f)
		}
	}
	return out
}

// answer returns the verdict. Controllers may still be unable to use an accepted object.
func (h handler) answer(ctx context.Context, r webhook.Request, v Verdict, o client.Object) webhook.Response {
	warnings := append(v.Warnings, h.lacks(ctx, r, v.Credentials)...)
	if len(v.Faults) > 0 {
		return webhook.Denied(v.Faults.ToAggregate().Error()).WithWarnings(distinct(warnings)...)
	}
	return webhook.Allowed("").WithWarnings(distinct(append(warnings, h.faults(o)...))...)
}

// lacks warns of a secret that does not exist. If the secret cannot be read, there is no warning.
func (h handler) lacks(ctx context.Context, r webhook.Request, ref provider.SecretRef) []string {
	if ref.Name == "" {
		return nil
	}
	if ref.Namespace == "" {
		ref.Namespace = r.Namespace
	}
	err := h.Secrets.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &corev1.Secret{})
	switch {
	case apierrors.IsNotFound(err):
		return []string{field.Invalid(specPath.Child("credentialsSecret"), ref.Name, "not found. Expected CredentialsSecret to exist").Error()}
	case err != nil:
		h.Log.V(1).Info("Cannot look for a secret", "namespace", ref.Namespace, "name", ref.Name, "error", err.Error())
	}
	return nil
}

// distinct removes repeated messages.
func distinct(warnings []string) (out []string) {
	for _, w := range warnings {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// written are the new object and the old one; the latter is nil on creation.
func written[O any](r webhook.Request) (now, old *O, err error) {
	now = new(O)
	if err := decode(r.Object.Raw, now); err != nil {
		return nil, nil, err
	}
	if r.Operation != admissionv1.Update || len(r.OldObject.Raw) == 0 {
		return now, nil, nil
	}
	old = new(O)
	return now, old, decode(r.OldObject.Raw, old)
}

func decode(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("decode the object: %w", err)
	}
	return nil
}

// filled is the answer with defaults; path is where the object has its provider spec.
func filled(raw []byte, d Defaults, faults field.ErrorList, path ...string) (webhook.Response, error) {
	if len(faults) > 0 {
		return webhook.Denied(faults.ToAggregate().Error()), nil
	}
	var o map[string]any
	if err := decode(raw, &o); err != nil {
		return webhook.Response{}, err
	}
	for key, value := range d.Labels {
		if err := unstructured.SetNestedField(o, value, "metadata", "labels", key); err != nil {
			return webhook.Response{}, err
		}
	}
	if d.Spec != nil {
		if err := place(o, json.RawMessage(d.Spec), path); err != nil {
			return webhook.Response{}, err
		}
	}
	now, err := json.Marshal(o)
	if err != nil {
		return webhook.Response{}, fmt.Errorf("encode the object with its defaults: %w", err)
	}
	return webhook.PatchResponseFromRaw(raw, now), nil
}

// place puts a provider spec into an object that has one.
func place(o map[string]any, spec json.RawMessage, path []string) error {
	for _, step := range path[:len(path)-1] {
		next, ok := o[step].(map[string]any)
		if !ok {
			return fmt.Errorf("%s: is no object", step)
		}
		o = next
	}
	o[path[len(path)-1]] = spec
	return nil
}
