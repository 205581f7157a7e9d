package checker

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Object has the fields of any object that the statements need: machines, their sets and deployments in both APIs, nodes and
// pods.
type Object struct {
	APIVersion string   `json:"apiVersion,omitempty"`
	Kind       string   `json:"kind,omitempty"`
	Metadata   Metadata `json:"metadata,omitzero"`
	Spec       Spec     `json:"spec,omitzero"`
	Status     Status   `json:"status,omitzero"`
	// Type is the type of a secret.
	Type string `json:"type,omitempty"`
	// Details are the details of a Status, the answer to the deletion of an object that the API server removes at once.
	Details struct {
		UID string `json:"uid,omitempty"`
	} `json:"details,omitzero"`
}

// Metadata is the metadata of every object.
type Metadata struct {
	Name                       string            `json:"name,omitempty"`
	Namespace                  string            `json:"namespace,omitempty"`
	UID                        string            `json:"uid,omitempty"`
	ResourceVersion            string            `json:"resourceVersion,omitempty"`
	Generation                 int64             `json:"generation,omitempty"`
	DeletionTimestamp          *time.Time        `json:"deletionTimestamp,omitempty"`
	DeletionGracePeriodSeconds *int64            `json:"deletionGracePeriodSeconds,omitempty"`
	Finalizers                 []string          `json:"finalizers,omitempty"`
	Labels                     map[string]string `json:"labels,omitempty"`
	Annotations                map[string]string `json:"annotations,omitempty"`
	OwnerReferences            []Owner           `json:"ownerReferences,omitempty"`
}

// Owner is an owner reference.
type Owner struct {
	Kind       string `json:"kind,omitempty"`
	UID        string `json:"uid,omitempty"`
	Controller bool   `json:"controller,omitempty"`
}

// Spec has the fields of all kinds.
type Spec struct {
	Replicas *int `json:"replicas,omitempty"`
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels,omitempty"`
	} `json:"selector,omitzero"`
	Strategy struct {
		Type          string `json:"type,omitempty"`
		RollingUpdate struct {
			MaxSurge       Share `json:"maxSurge,omitempty"`
			MaxUnavailable Share `json:"maxUnavailable,omitempty"`
		} `json:"rollingUpdate,omitzero"`
	} `json:"strategy,omitzero"`
	// RollbackTo is the rollback that a user requests of a deployment.
	RollbackTo *struct{} `json:"rollbackTo,omitempty"`
	Template   struct {
		Spec Recipe `json:"spec,omitzero"`
	} `json:"template,omitzero"`
	Recipe

	// For machines.
	ProviderID     string `json:"providerID,omitempty"`
	DrainTimeout   string `json:"drainTimeout,omitempty"`
	LifecycleHooks struct {
		PreDrain     []Hook `json:"preDrain,omitempty"`
		PreTerminate []Hook `json:"preTerminate,omitempty"`
	} `json:"lifecycleHooks,omitzero"`

	// For nodes and pods.
	Unschedulable bool   `json:"unschedulable,omitempty"`
	NodeName      string `json:"nodeName,omitempty"`
}

// Recipe is the part of a template from which instances are created: a change of it means new machines.
type Recipe struct {
	ProviderSpec json.RawMessage `json:"providerSpec,omitempty"`
	Class        struct {
		Name string `json:"name,omitempty"`
	} `json:"class,omitzero"`
}

// Hook is a lifecycle hook.
type Hook struct {
	Name string `json:"name,omitempty"`
}

// Status has the fields of all kinds.
type Status struct {
	Phase         string
	CurrentStatus struct{ Phase string }
	// NodeRef belongs to machines of machine.openshift.io.
	NodeRef struct{ Name string }
	// ErrorMessage belongs to machine.openshift.io, Conditions to machine.openshift.io and nodes, LastOperation to
	// machine.sapcloud.io.
	ErrorMessage  string
	Conditions    []Condition
	LastOperation struct{ Description string }

	ObservedGeneration                                          int64
	Replicas, ReadyReplicas, AvailableReplicas, UpdatedReplicas int
}

// Condition is one of an object's conditions.
type Condition struct{ Type, Status, Message string }

// UnmarshalJSON accepts the status of a Status, which is a string.
func (s *Status) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return nil
	}
	type plain Status
	return json.Unmarshal(raw, (*plain)(s))
}

// Share is a number or a percentage.
type Share json.RawMessage

// UnmarshalJSON keeps the text.
func (s *Share) UnmarshalJSON(raw []byte) error {
	*s = bytes.Clone(raw)
	return nil
}

// of returns the number that the share is of n. A percentage is rounded up or down; an absent share is 0.
func (s Share) of(n int, up bool) int {
	text := strings.Trim(string(s), `"`)
	percent, relative := strings.CutSuffix(text, "%")
	number, err := strconv.Atoi(percent)
	switch {
	case err != nil:
		return 0
	case !relative:
		return number
	case up:
		return int(math.Ceil(float64(number*n) / 100))
	default:
		return number * n / 100
	}
}

// bounds returns how many machines a deployment may have above the wanted number, and how many may be unavailable.
func (o Object) bounds() (surge, unavailable int) {
	rolling := o.Spec.Strategy.RollingUpdate
	surge, unavailable = rolling.MaxSurge.of(o.replicas(), true), rolling.MaxUnavailable.of(o.replicas(), false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1 // with both at 0 no machine could be replaced
	}
	return surge, min(unavailable, o.replicas())
}

// rolls says whether a deployment has the strategy RollingUpdate, which is the default.
func (o Object) rolls() bool {
	return slices.Contains([]string{"", "RollingUpdate"}, o.Spec.Strategy.Type)
}

// replicas returns the wanted number. machine.sapcloud.io omits a 0; machine.openshift.io treats a missing number as 1.
func (o Object) replicas() int {
	switch {
	case o.Spec.Replicas != nil:
		return *o.Spec.Replicas
	case strings.HasPrefix(o.APIVersion, "machine.sapcloud.io/"):
		return 0
	default:
		return 1
	}
}

func (o Object) deleting() bool { return o.Metadata.DeletionTimestamp != nil }

func (o Object) wanted() bool { return !o.deleting() }

// phase is the phase of a machine, in the words of its API.
func (o Object) phase() string {
	if o.Status.CurrentStatus.Phase != "" {
		return o.Status.CurrentStatus.Phase
	}
	return o.Status.Phase
}

// node is the name of the machine's node.
func (o Object) node() string {
	return cmp.Or(o.Status.NodeRef.Name, o.Metadata.Labels["node"])
}

// ready says whether a node is Ready.
func (o Object) ready() bool {
	return slices.ContainsFunc(o.Status.Conditions, func(c Condition) bool { return c.Type == "Ready" && c.Status == "True" })
}

// drained says whether the machine reports a finished drain.
func (o Object) drained() bool {
	return slices.ContainsFunc(o.Status.Conditions, func(c Condition) bool { return c.Type == "Drained" && c.Status == "True" })
}

// why is the machine's own message about its state.
func (o Object) why() string {
	for _, c := range o.Status.Conditions {
		if c.Status != "True" && c.Message != "" {
			return c.Message
		}
	}
	return cmp.Or(o.Status.ErrorMessage, o.Status.LastOperation.Description)
}

// owner returns the kind and the UID of the controller of the object.
func (o Object) owner() (kind, uid string) {
	for _, r := range o.Metadata.OwnerReferences {
		if r.Controller {
			return r.Kind, r.UID
		}
	}
	return "", ""
}

// selects says whether a set or deployment selects the labels.
func (o Object) selects(labels map[string]string) bool {
	for k, v := range o.Spec.Selector.MatchLabels {
		if labels[k] != v {
			return false
		}
	}
	return true
}

// removed says whether an answer is the last of its object: the object is being deleted and has no finalizer left.
func (o Object) removed(resource string) bool {
	if !o.deleting() || len(o.Metadata.Finalizers) > 0 {
		return false
	}
	grace := o.Metadata.DeletionGracePeriodSeconds
	return resource != "pods" || grace == nil || *grace == 0
}

// recipe returns the recipe of the object, or of its template, in one spelling.
func (o Object) recipe() string {
	of := o.Spec.Recipe
	if len(of.ProviderSpec) == 0 && of.Class.Name == "" {
		of = o.Spec.Template.Spec
	}
	var spec any
	if json.Unmarshal(of.ProviderSpec, &spec) != nil {
		return of.Class.Name
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return of.Class.Name
	}
	return of.Class.Name + string(raw)
}
