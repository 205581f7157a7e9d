package openshift

import (
	"cmp"
	"slices"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/provider"
)

// Said returns the status of o; empty if o is of another API.
func Said(o client.Object) (s dialect.Said) {
	switch o := o.(type) {
	case *machinev1.Machine:
		s.Failure = Machines{}.Failure(o)
		s.Statements = append(errorSays(o.Status.ErrorReason, o.Status.ErrorMessage), dialect.ConditionsSay(o.Status.Conditions, ofMachine)...)
		s.Phase, s.Seen = ptr.Deref(o.Status.Phase, ""), seen(o)
		s.Unasked = slices.ContainsFunc(o.Status.Conditions, func(c machinev1.Condition) bool {
			return c.Type == machinev1.InstanceExistsCondition && c.Reason == machinev1.ErrorCheckingProviderReason
		})
		userData, credentials := Machines{}.Secrets(o)
		s.Secrets = namedSecrets(o.Namespace, userData, credentials)
	case *machinev1.MachineSet:
		st := o.Status
		s.Template = o.Spec.Template.Annotations
		s.Statements = append(errorSays(st.ErrorReason, st.ErrorMessage), dialect.ConditionsSay(st.Conditions, ofMachine)...)
		s.Counts = dialect.CountsOf(st.Replicas, st.ReadyReplicas, st.AvailableReplicas, 0, st.ObservedGeneration)
	case *v1beta1.MachineDeployment:
		st := o.Status
		s.Template = o.Spec.Template.Annotations
		s.Statements = dialect.ConditionsSay(st.Conditions, standard)
		s.Counts = dialect.CountsOf(st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas, st.ObservedGeneration)
	case *lenient.MachineHealthCheck:
		s.Statements = dialect.ConditionsSay(o.Status.Conditions, ofCheck)
	}
	return s
}

// machinesStart is the reason of a check that remediates nothing because machines are starting.
const machinesStart = "MachinesStart"

// ofCheck distinguishes starting machines from unhealthy ones: clients know one reason for both.
func ofCheck(c machinev1.Condition) dialect.Statement {
	s := ofMachine(c)
	if c.Type == RemediationAllowed && c.Reason == ReasonTooManyUnhealthy && c.Severity == machinev1.ConditionSeverityInfo {
		s.Reason = machinesStart
	}
	return s
}

func errorSays[R ~string](reason *R, message *string) []dialect.Statement {
	if ptr.Deref(message, "") == "" {
		return nil
	}
	return []dialect.Statement{{About: dialect.ErrorStatement, Status: "Failed", Reason: string(ptr.Deref(reason, "")), Message: *message}}
}

// namedSecrets leaves out references without a name. The default namespace is that of the machine.
func namedSecrets(namespace string, userData, credentials provider.SecretRef) (out []dialect.NamedSecret) {
	for _, s := range []dialect.NamedSecret{{Namespace: userData.Namespace, Name: userData.Name}, {Namespace: credentials.Namespace, Name: credentials.Name, Credentials: true}} {
		if s.Name != "" {
			s.Namespace = cmp.Or(s.Namespace, namespace)
			out = append(out, s)
		}
	}
	return out
}

func ofMachine(c machinev1.Condition) dialect.Statement {
	return dialect.ConditionSays(c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime)
}

func standard(c metav1.Condition) dialect.Statement {
	return dialect.ConditionSays(c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime)
}
