package gardener

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Said returns the status of o; empty if o is of another API.
func Said(o client.Object) (s dialect.Said) {
	switch o := o.(type) {
	case *v1alpha1.Machine:
		s.Failure = Machines{}.Failure(o)
		s.Statements = operationSays(o.Status.LastOperation, s.Failure)
		s.Phase, s.Seen = string(o.Status.CurrentStatus.Phase), seen(o)
		s.Class, s.Classed = o.Spec.Class.Name, true
		if kind := o.Spec.Class.Kind; kind != "" && kind != v1alpha1.KindMachineClass {
			s.Notes = []dialect.Statement{{About: "spec.class.kind", Message: kind + " is taken as " + v1alpha1.KindMachineClass + ", as every kind is"}}
		}
		if until := o.Status.CurrentStatus.PreserveExpiryTime; until != nil {
			s.KeptUntil = until.Time
		}
	case *v1alpha1.MachineClass:
		s.Secrets = namedSecrets(o)
	case *v1alpha1.MachineSet:
		st := o.Status
		s.Statements = dialect.ConditionsSay(st.Conditions, ofSet)
		s.Class, s.Classed, s.Frozen, s.Template = o.Spec.Template.Spec.Class.Name, true, labelledFrozen(o), o.Spec.Template.Annotations
		s.Counts = dialect.CountsOf(st.Replicas, st.ReadyReplicas, st.AvailableReplicas, 0, st.ObservedGeneration)
	case *v1alpha1.MachineDeployment:
		st := o.Status
		s.Statements = dialect.ConditionsSay(st.Conditions, ofDeployment)
		s.Class, s.Classed, s.Frozen, s.Template = o.Spec.Template.Spec.Class.Name, true, labelledFrozen(o), o.Spec.Template.Annotations
		s.Counts = dialect.CountsOf(st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas, st.ObservedGeneration)
	}
	return s
}

// seen returns the instance as the machine shows it: this API stores no state of the instance but the last operation on it.
func seen(m *v1alpha1.Machine) (s dialect.Seen) {
	op := m.Status.LastOperation
	if s.At = op.LastUpdateTime.Time; s.At.Before(m.Status.CurrentStatus.LastUpdateTime.Time) {
		s.At = m.Status.CurrentStatus.LastUpdateTime.Time
	}
	s.Said = operationSays(op, nil)
	return s
}

// namedSecrets returns the secrets of a class. Of two, the second has the credentials.
func namedSecrets(c *v1alpha1.MachineClass) (out []dialect.NamedSecret) {
	for _, ref := range []*corev1.SecretReference{c.SecretRef, c.CredentialsSecretRef} {
		if ref != nil && ref.Name != "" {
			credentials := ref == c.CredentialsSecretRef || c.CredentialsSecretRef == nil
			out = append(out, dialect.NamedSecret{Namespace: cmp.Or(ref.Namespace, c.Namespace), Name: ref.Name, Credentials: credentials})
		}
	}
	return out
}

func ofSet(c v1alpha1.MachineSetCondition) dialect.Statement {
	return dialect.ConditionSays(c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime)
}

func ofDeployment(c v1alpha1.MachineDeploymentCondition) dialect.Statement {
	return dialect.ConditionSays(c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime)
}

// operationSays removes the frame of an error, which would repeat the reason.
func operationSays(op v1alpha1.LastOperation, failure error) []dialect.Statement {
	if op.Description == "" {
		return nil
	}
	s := dialect.Statement{
		About: dialect.OperationStatement, Status: string(op.State), Reason: cmp.Or(op.ErrorCode, string(op.Type)),
		Message: op.Description, Since: op.LastUpdateTime.Time,
	}
	if failure != nil {
		s.Message = failure.Error()
	}
	if lifecycle.Contradicts(op.Description) {
		s.Reason = string(lifecycle.ReasonContradicted)
	}
	return []dialect.Statement{s}
}
