package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/millwright-dev/millwright/internal/admission"
)

// silent is an API server that does not answer.
type silent struct{ client.Reader }

func (silent) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("no answer")
}

func request(t *testing.T, now, old *machinev1.ControlPlaneMachineSet) webhook.Request {
	t.Helper()
	r := webhook.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create, Namespace: "ns"}}
	for o, into := range map[*machinev1.ControlPlaneMachineSet]*runtime.RawExtension{now: &r.Object, old: &r.OldObject} {
		if o == nil {
			continue
		}
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		into.Raw = raw
	}
	if old != nil {
		r.Operation = admissionv1.Update
	}
	return r
}

// TestFailsClosed: a set that cannot be judged is refused, unless its write only removes the last finalizer of a set under deletion (OCPBUGS-42660).
func TestFailsClosed(t *testing.T) {
	h := handler{objects: silent{}, Options: admission.Options{Cluster: func() admission.Cluster { return admission.Cluster{} }}}
	valid := set(t, abc, awsKey)
	for about, r := range map[string]webhook.Request{"creation": request(t, valid, nil), "update": request(t, valid, valid.DeepCopy())} {
		answer := h.handle(t.Context(), r)
		if answer.Allowed || !strings.Contains(answer.Result.Message, "error getting infrastructure resource: no answer") {
			t.Errorf("%s: %+v", about, answer)
		}
	}
	now := metav1.Now()
	leaving, freed := valid.DeepCopy(), valid.DeepCopy()
	leaving.DeletionTimestamp, freed.DeletionTimestamp, leaving.Finalizers = &now, &now, []string{"x"}
	if answer := h.handle(t.Context(), request(t, freed, leaving)); !answer.Allowed {
		t.Errorf("the last finalizer: %+v", answer)
	}
	if answer := h.handle(t.Context(), webhook.Request{AdmissionRequest: admissionv1.AdmissionRequest{Object: runtime.RawExtension{Raw: []byte("{")}}}); answer.Allowed {
		t.Error("an object that cannot be decoded is allowed")
	}
}
