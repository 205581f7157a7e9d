package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/millwright-dev/millwright/internal/admission"
	"github.com/millwright-dev/millwright/internal/dialect/failuredomain"
)

// Configuration is the name of the webhook configuration, which config/control-plane-machine-set has.
const Configuration = "controlplanemachineset.machine.openshift.io"

// Path is the path of the webhook.
const Path = "/validate-machine-openshift-io-v1-controlplanemachineset"

// Handlers answer API servers, by path. The client reads the Infrastructure and the machines; unlike other webhooks, this one
// refuses an object that it cannot judge: a wrong set may cost the control plane.
func Handlers(c client.Reader) func(admission.Options) map[string]http.Handler {
	return func(o admission.Options) map[string]http.Handler {
		h := handler{Options: o, objects: c}
		return map[string]http.Handler{Path: &webhook.Webhook{Handler: webhook.HandlerFunc(h.handle)}}
	}
}

type handler struct {
	admission.Options
	objects client.Reader
}

func (h handler) handle(ctx context.Context, r webhook.Request) webhook.Response {
	set, old := &machinev1.ControlPlaneMachineSet{}, (*machinev1.ControlPlaneMachineSet)(nil)
	if err := json.Unmarshal(r.Object.Raw, set); err != nil {
		return webhook.Errored(http.StatusBadRequest, fmt.Errorf("decode the object: %w", err))
	}
	if r.Operation == admissionv1.Update {
		old = &machinev1.ControlPlaneMachineSet{}
		if err := json.Unmarshal(r.OldObject.Raw, old); err != nil {
			return webhook.Errored(http.StatusBadRequest, fmt.Errorf("decode the old object: %w", err))
		}
	}
	if Excused(set, old) {
		return webhook.Allowed("")
	}
	facts, err := h.facts(ctx, r.Namespace, old == nil)
	if err != nil {
		return webhook.Errored(http.StatusInternalServerError, err)
	}
	v := Validate(set, old, facts)
	if len(v.Faults) > 0 {
		return webhook.Denied(utilerrors.NewAggregate(v.Faults).Error()).WithWarnings(v.Warnings...)
	}
	return webhook.Allowed("").WithWarnings(v.Warnings...)
}

func (h handler) facts(ctx context.Context, namespace string, creates bool) (f Facts, err error) {
	f.Rules = h.rules
	in := &configv1.Infrastructure{}
	switch err := h.objects.Get(ctx, client.ObjectKey{Name: name}, in); {
	case err == nil:
		f.Infrastructure = in
	case !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
		return f, fmt.Errorf("error getting infrastructure resource: %w", err)
	}
	if !creates {
		return f, nil
	}
	var list machinev1beta1.MachineList
	err = h.objects.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{
		failuredomain.RoleLabel: failuredomain.Master, failuredomain.TypeLabel: failuredomain.Master,
	})
	if err != nil {
		return f, fmt.Errorf("could not fetch existing control plane machines: %w", err)
	}
	f.Machines = list.Items
	return f, nil
}

// rules returns the rules of machines of a platform; "" means that of the cluster.
func (h handler) rules(platform configv1.PlatformType) admission.Rules {
	c := h.Cluster()
	if platform != "" {
		c.Type = string(platform)
	}
	return admission.Rules{Admitter: h.Admitters[c.Type], Platform: c.Platform}
}
