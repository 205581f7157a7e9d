package explain

import (
	"strings"

	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/provider"
)

// advice is the meaning of a reason for a person. Words in braces are placeholders.
type advice struct {
	state State
	// text follows the subject: "is being deleted ...".
	text, next string
	// waits says that the object waits only for its controller, so that the absence of the controller is the
	// reason.
	waits bool
}

// The parts of keys after the slash, for kinds of failures.
const (
	exhausted = string(provider.Exhausted)
	denied    = string(provider.Denied)
	invalid   = string(provider.Invalid)
)

// Texts that several reasons share.
const (
	nothing    = "no action is needed"
	wait       = "wait"
	noInstance = "has no instance after {age}{limit}: "
	unready    = "is not ready: its instance runs, "
	updating   = "is being updated in place: "
	retried    = "; the controller tries again within {retry}"
	// retriedLate is for quota and capacity, retriedSet for sets and deployments.
	retriedLate = "; the controller tries again within {late retry}"
	retriedSet  = "; the controller tries again by itself"
	atWork      = "make sure that a {controller} runs, holds its lease, and serves the API {api} and the namespace {namespace}"
	look        = "look at the node: `kubectl describe node {node}`"
	stopped     = "find out what stopped the instance"
	fixAll      = "fix the cause in the provider spec, class or boot data"
)

// refusals are the reasons of machines without an instance, by the kind of the failure.
var refusals = map[provider.Kind]string{
	provider.Exhausted: "ResourceExhausted", provider.Invalid: "InvalidConfiguration", provider.Denied: "PermissionDenied", provider.Conflict: "Conflict",
}

// reasons has the state, text and next step for each reason. A reason with several meanings has an entry for
// each, named after a slash.
var reasons = map[string]advice{
	// A machine that is not under deletion, in the order of lifecycle.
	word(lifecycle.ReasonNew):                            {Progressing, "was created {age} ago, and its controller starts to work on it", wait, true},
	ReasonNotSeen:                                        {Failed, "was created {age} ago, and no controller has acted on it", atWork, true},
	word(lifecycle.ReasonInvalidObject):                  {Failed, "gets no instance: {field} is invalid", "correct {field}, in the template if the machine was created from one, and delete the machine", false},
	word(lifecycle.ReasonFailed):                         {Failed, "failed{failed}", "fix the cause, delete the machine, and create another machine: no controller replaces this one", false},
	word(lifecycle.ReasonFailed) + "/Owned":              {Failed, "failed{failed}", "fix the cause, and delete the machine unless a health check deletes it; {owner} then creates another machine", false},
	word(lifecycle.ReasonFailed) + "/Template":           {Failed, "failed{failed}", "correct the named field in the template of {owner}, and delete the machine; {owner} then creates another machine", false},
	word(lifecycle.ReasonFailed) + "/Exhausted":          {Failed, "failed{failed}", "raise the quota, or use another type or zone, and delete the machine; {owner} then creates another machine", false},
	word(lifecycle.ReasonFailed) + "/" + denied:          {Failed, "failed{failed}", "renew the credentials in {credentials}, or grant them the named permission, and delete the machine; {owner} then creates another machine", false},
	word(lifecycle.ReasonFailed) + "/InstanceGone":       {Failed, "failed{failed}: its instance does not exist any more", "find out who terminated the instance at the infrastructure, and delete the machine unless a health check deletes it; {owner} then creates another machine", false},
	word(lifecycle.ReasonFailed) + "/Replaced":           {Failed, "failed{failed}", "wait: {owner} deletes the machine and creates another; fix the cause, or the next machine also fails", true},
	word(lifecycle.ReasonFailed) + "/Preserved":          {Failed, "failed{failed}, and is preserved for inspection for another {left}", "inspect the machine; it is replaced after this time, or when a user ends the preservation", false},
	reasonNoSecret + "/Machine":                          {Degraded, noInstance + "{secret} does not exist", "create {secret}, or correct the reference" + retried, false},
	word(lifecycle.ReasonClassUnavailable):               {Degraded, "has no instance, because its {class} does not exist", "create {class} in namespace {namespace}, or correct the reference", false},
	word(lifecycle.ReasonLookupFailed):                   {Degraded, noInstance + "the infrastructure does not say whether an instance of the machine exists", "fix the named cause, or renew the credentials in {credentials} if the infrastructure refuses them" + retried, false},
	word(lifecycle.ReasonGivenUp):                        {Degraded, noInstance + "the infrastructure accepted the request, and the instance failed", "fix the cause, or delete the machine to get another machine where capacity exists", false},
	word(lifecycle.ReasonGivenUp) + "/" + exhausted:      {Degraded, noInstance + "the infrastructure accepted the request, and the instance failed", "raise the quota, or use another type or zone; delete the machine to get another machine where capacity exists", false},
	word(lifecycle.ReasonGivenUp) + "/" + denied:         {Degraded, noInstance + "the infrastructure accepted the request, and the instance failed", "renew the credentials in {credentials}, or grant them the named permission, and delete the machine: another machine is created", false},
	word(lifecycle.ReasonGivenUp) + "/" + invalid:        {Degraded, noInstance + "the infrastructure accepted the request, and the instance failed", "correct the named field of {class}, and delete the machine: another machine is created", false},
	word(lifecycle.ReasonTaken):                          {Degraded, noInstance + "another instance has the name of the machine", "delete that instance, or delete the machine", false},
	word(lifecycle.ReasonDuplicate):                      {Progressing, "has more than one instance, and its controller records which instance it keeps", wait, true},
	word(lifecycle.ReasonUserData):                       {Degraded, noInstance + "its boot data are missing", "create the named object, or correct the reference" + retried, false},
	word(lifecycle.ReasonNoInstance):                     {Progressing, "is being created: it has no instance yet after {age}{limit}", wait, true},
	word(lifecycle.ReasonRetry):                          {Degraded, noInstance + "every attempt to create one has failed", "fix the named cause" + retried, false},
	word(lifecycle.ReasonCreateFailed):                   {Degraded, noInstance + "every attempt to create one has failed", "fix the named cause" + retried, false},
	word(lifecycle.ReasonCreateFailed) + "/" + exhausted: {Degraded, noInstance + "every attempt to create one has failed", "raise the quota, or use another type or zone" + retriedLate, false},
	word(lifecycle.ReasonCreateFailed) + "/" + denied:    {Degraded, noInstance + "every attempt to create one has failed", "renew the credentials in {credentials}, or grant them the named permission" + retried, false},
	refusals[provider.Exhausted]:                         {Degraded, noInstance + "quota or capacity of the infrastructure is used up", "raise the quota, or use another type or zone" + retriedLate, true},
	refusals[provider.Invalid]:                           {Degraded, noInstance + "the infrastructure refuses its provider spec", "correct the named field of {class}", false},
	refusals[provider.Denied]:                            {Degraded, noInstance + "the infrastructure denies its credentials", "renew the credentials in {credentials}, or grant them the named permission" + retried, false},
	refusals[provider.Conflict]:                          {Degraded, noInstance + "another operation is in progress at the infrastructure", "wait: the controller tries again by itself", true},
	word(lifecycle.ReasonCreateTimeout):                  {Failed, noInstance + "the time limit has passed, and the machine becomes Failed", fixAll, false},
	word(lifecycle.ReasonPending):                        {Progressing, "is being created: the infrastructure has been working on its instance for {age}{limit}", wait, true},
	word(lifecycle.ReasonUninitialized):                  {Progressing, "is being created: its instance is being initialized", wait, true},
	word(lifecycle.ReasonUnconfirmed):                    {Progressing, "waits until the infrastructure lists the requested instance", wait, true},
	word(lifecycle.ReasonMissing):                        {Failed, "is not healthy: its instance does not exist any more, and the machine becomes Failed", "find out who terminated the instance", false},
	word(lifecycle.ReasonContradicted):                   {Degraded, "runs, but the infrastructure does not list its instance", "check the credentials in {credentials}, their account, and the identifying tags of the instance; the controller does not touch the instance until the infrastructure lists it", false},
	word(lifecycle.ReasonRebootAsked):                    {Progressing, "is being rebooted", wait, true},
	word(lifecycle.ReasonDetached):                       {Healthy, "is in order: its instance runs, and no node is expected", nothing, false},
	reasonStopped:                                        {Degraded, "is not healthy: {stopped}", stopped + ", and start the instance or delete the machine", false},
	word(lifecycle.ReasonAwaitingNode):                   {Progressing, "is starting: its instance runs, and no node has joined yet{limit}", wait, true},
	word(lifecycle.ReasonAwaitingNode) + "/Long":         {Degraded, unready + "but no node has joined for {joining}{limit}", "read the console of the instance: the boot data, the image or the network may be wrong{health}", false},
	word(lifecycle.ReasonAwaitingNode) + "/Silent":       {Progressing, unready + "but no node has joined for {joining}{limit}", "wait another {left}; if no certificate request arrives by then, read the console of the instance: the boot data, the image or the network may be wrong", false},
	reasonSquatter:                                       {Degraded, unready + "but node {squatter}, which does not belong to the machine, has its name{limit}", "delete node {squatter}, if it is left over from an earlier machine: `kubectl describe node {squatter}`", false},
	word(lifecycle.ReasonAwaitingNode) + "/Unready":      {Progressing, "is not ready: its node {node} has joined, but is not healthy yet{limit}", wait, true},
	word(lifecycle.ReasonAwaitingNode) + "/Stays":        {Degraded, "is not ready: its node {node} has joined, but is not healthy yet{limit}", "find out why the node is not ready: `kubectl describe node {node}`", false},
	word(lifecycle.ReasonJoinTimeout):                    {Failed, "did not join in time{limit}, and becomes Failed", fixAll, false},
	word(lifecycle.ReasonNodeUnknown):                    {Unknown, "runs according to its status, but its node cannot be read", "run this command with permission to read nodes in the cluster that the machine joins (--target-kubeconfig)", false},
	word(lifecycle.ReasonNodeUnknown) + "/Unreached":     {Unknown, "runs according to its status, but its node cannot be read", "check that the API server of the machine's cluster answers, and that --target-kubeconfig names this cluster", false},
	word(lifecycle.ReasonNodeMissing):                    {Failed, "is not healthy: its node {node} does not exist", "restart the kubelet, so that it registers the node again, or delete the machine; {remedy}", false},
	word(lifecycle.ReasonNodeMissing) + "/Replaced":      {Degraded, "is not healthy: its node {node} does not exist", "wait: the machine is replaced", true},
	word(lifecycle.ReasonNodeMissing) + "/Timed":         {Degraded, "is not healthy: its node {node} does not exist", "restart the kubelet, so that it registers the node again; otherwise the machine becomes Failed in {left} and is replaced (a deployment replaces one such machine at a time); to replace it now, delete the machine", false},
	word(lifecycle.ReasonTargetReplaced):                 {Stuck, "is frozen: the target cluster is not the cluster that it joined", "check the kubeconfig of the target cluster (--target-kubeconfig); if the machine now belongs to this cluster, set the annotation millwright.dev/target-cluster to the UID of the cluster's namespace kube-system", false},
	word(lifecycle.ReasonNodeDoubted):                    {Stuck, "waits: its node and the nodes of other machines are missing in the target cluster", "find out whether the target cluster was restored; restart the kubelets, or force the deletion of machines one by one", false},
	word(lifecycle.ReasonNodeStale):                      {Progressing, "is healthy, and its controller sets the machine's labels and taints on node {node}", wait, true},
	word(lifecycle.ReasonNodeUnhealthy):                  {Degraded, "is not healthy: its node {node} has been {condition}{unwell}", look + "; {remedy}", false},
	word(lifecycle.ReasonNodeUnhealthy) + "/Timed":       {Degraded, "is not healthy: its node {node} has been {condition}{unwell}", look + "; in {left} the machine becomes Failed and is replaced", false},
	reasonStopped + "/Unready":                           {Degraded, "is not healthy: its node {node} has been {condition}{unwell}", stopped + ", and start the instance or delete the machine; {remedy}", false},
	reasonStopped + "/Timed":                             {Degraded, "is not healthy: its node {node} has been {condition}{unwell}", stopped + "; in {left} the machine becomes Failed and is replaced; to replace it now, delete the machine", false},
	word(lifecycle.ReasonHealthTimeout):                  {Failed, "has been unhealthy for too long, and becomes Failed", fixAll, false},
	word(lifecycle.ReasonFailureWithheld):                {Degraded, "is not healthy: its node {node} has been {condition}{unwell}", "look at the other machines of the deployment, and at the log of the machine controller", false},
	word(lifecycle.ReasonReconnected):                    {Progressing, "gets its full health timeout again, because the API server was unreachable", wait, true},
	word(lifecycle.ReasonRunning):                        {Healthy, "is healthy: its node {node} has been Ready{ready}", nothing, false},
	word(lifecycle.ReasonRunning) + "/Cordoned":          {Healthy, "is healthy: its node {node} has been Ready{ready}", "when the maintenance of the node is finished, run `kubectl uncordon {node}`", false},
	word(lifecycle.ReasonRecovered):                      {Progressing, "is healthy: its node {node} has been Ready{ready}", "wait: the controllers will update the status soon", true},
	word(lifecycle.ReasonJoined):                         {Progressing, "is healthy: its node {node} has been Ready{ready}", "wait: the controllers will update the status soon", true},

	word(lifecycle.ReasonMoved):               {Waiting, "is left alone: its instance was moved to another machine", "finish with `kubectl machine migrate`, or, if no other machine has the instance, remove the annotation millwright.dev/moved-to", false},
	word(lifecycle.ReasonMoved) + "/Deleting": {Stuck, "{going}: its instance was moved to a machine that does not have it", "finish with `kubectl machine migrate`, or remove the annotation millwright.dev/moved-to, which also terminates the instance", false},

	// Updates in place.
	word(lifecycle.ReasonUpdateCandidate): {Progressing, updating + "node {node} waits for its turn", wait, true},
	word(lifecycle.ReasonUpdateSelected):  {Progressing, updating + "node {node} is the next one", wait, true},
	word(lifecycle.ReasonUpdateDraining):  {Progressing, updating + "node {node} is being drained", "wait: the controller is evicting the pods", true},
	word(lifecycle.ReasonUpdateDrained):   {Progressing, updating + "node {node} has been drained", wait, true},
	word(lifecycle.ReasonUpdateReady):     {Progressing, updating + "node {node} is ready for its agent", wait, true},
	word(lifecycle.ReasonUpdating):        {Progressing, "is being updated in place{since}{update}", "wait for the agent on node {node}", false},
	word(lifecycle.ReasonUpdated):         {Progressing, "was updated in place, and is handed over to the new set", wait, true},
	word(lifecycle.ReasonUpdateFailed):    {Failed, "could not be updated in place{since}", "to try again, remove the label update-result from node {node}; to cancel the update, also remove the label selected-for-update; otherwise the machine is replaced", false},
	word(lifecycle.ReasonUpdateTimeout):   {Failed, "was not updated in place in time{update}", "find out why the agent on node {node} does not finish; otherwise the machine is replaced", false},
	word(lifecycle.ReasonUpdateWithdrawn): {Progressing, "was selected for an update in place, but the update was cancelled", wait, true},

	// A machine under deletion, in the same order.
	word(lifecycle.ReasonReleased):                      {Deleting, "{going}: all steps are done, and the object is about to be deleted", wait, true},
	reasonForeign:                                       {Stuck, "{going}: its instance is terminated, and a finalizer of another program holds the object", "make sure that the program that set the finalizer runs; remove the finalizer only if this program will never run again", false},
	word(lifecycle.ReasonDrainBlockedHook):              {Stuck, "{going}: its drain waits until the pre-drain hook {hook} of {hook owner} is removed", "find out what {hook owner} waits for; {hook owner} removes the hook when its work is finished", false},
	word(lifecycle.ReasonDisruptionBudget):              {Stuck, "{going}: a machine disruption budget does not permit its drain yet", "wait until the budget permits it, or change the budget: `kubectl get machinedisruptionbudgets`", false},
	word(lifecycle.ReasonDisruptionBudget) + "/Stop":    {Stuck, "{going}: an emergency stop does not permit its drain yet", "`kubectl machine resume` ends the emergency stop", false},
	word(lifecycle.ReasonNodeUnknown) + "/Deleting":     {Stuck, "{going}: its node cannot be read", "run this command with permission to read nodes in the cluster that the machine joins (--target-kubeconfig)", false},
	word(lifecycle.ReasonDeleting):                      {Deleting, "{going}: its deletion has begun, and no obstacle is recorded", wait, true},
	word(lifecycle.ReasonDeleting) + "/NotBegun":        {Deleting, "{going}: no controller has acted on it yet", wait, true},
	word(lifecycle.ReasonDeleting) + "/NotSeen":         {Stuck, "{going}: no controller has acted on it yet", atWork, true},
	word(lifecycle.ReasonDraining):                      {Deleting, "{going}: node {node} still has {pods}", "wait: the controller is evicting the pods", true},
	word(lifecycle.ReasonDraining) + "/Long":            {Stuck, "{going}: the drain of its node {node} has not finished", "look at the pods in the way, on the page of the machine or by `kubectl machine why machine/{name}`", false},
	word(lifecycle.ReasonDraining) + "/Unseen":          {Deleting, "{going}: its node {node} is being drained", "wait: the controller is evicting the pods", true},
	string(drain.ReasonBudget):                          {Stuck, "{going}: pod {pod} cannot leave node {node}, because disruption budget {budget} allows no disruption", "wait until the evicted pods of {budget} are Ready on other nodes", false},
	string(drain.ReasonBudget) + "/Sick":                {Stuck, "{going}: pod {pod} cannot leave node {node}, because disruption budget {budget} allows no disruption", "fix pod {sick}, which is not Ready: the budget allows the eviction when enough of its pods are Ready", false},
	string(drain.ReasonBudget) + "/Few":                 {Stuck, "{going}: pod {pod} cannot leave node {node}, because disruption budget {budget} allows no disruption", "run more replicas of the pods that {budget} covers", false},
	string(drain.ReasonBudget) + "/Never":               {Stuck, "{going}: pod {pod} cannot leave node {node}, because disruption budget {budget} allows no disruption", "change disruption budget {budget}, which allows no disruption even with all pods healthy, or run more replicas", false},
	string(drain.ReasonBudget) + "/Broken":              {Stuck, "{going}: pod {pod} cannot leave node {node}, because disruption budget {budget} allows no disruption", "delete pod {pod} by hand, or change disruption budget {budget}: it never allows a disruption, because its allowed disruptions cannot be computed", false},
	string(drain.ReasonBudgets):                         {Stuck, "{going}: pod {pod} cannot leave node {node}, because several disruption budgets cover it", "change {budget} or the other budgets, so that only one of them covers the pod: the API server does not evict a pod that several budgets cover", false},
	string(drain.ReasonStillAttached):                   {Deleting, "{going}: its pods have left, but {volumes} still attached to node {node}", "wait until the volumes are detached; if this takes long, read the log of the volumes' driver", false},
	string(drain.ReasonStillAttached) + "/Failing":      {Stuck, "{going}: its pods have left, but {volumes} still attached to node {node}", "read the log of the volumes' driver, which cannot detach the volumes", false},
	word(lifecycle.ReasonTerminateHook):                 {Stuck, "{going}: its termination waits until the pre-terminate hook {hook} of {hook owner} is removed", "find out what {hook owner} waits for; {hook owner} removes the hook when its work is finished", false},
	word(lifecycle.ReasonDeletionNeedsHelp):             {Stuck, "{going}: its instance cannot be terminated, because its {class} does not exist", "restore {class}; only if you are certain that the instance does not exist, set the annotation millwright.dev/abandon-instance instead", false},
	word(lifecycle.ReasonTerminateFailed):               {Stuck, "{going}: its instance cannot be terminated", "fix the named cause" + retried, false},
	word(lifecycle.ReasonTerminateFailed) + "/Denied":   {Stuck, "{going}: its instance cannot be terminated", "renew the credentials in {credentials}, or grant them the named permission" + retried, false},
	word(lifecycle.ReasonTerminateFailed) + "/Invalid":  {Stuck, "{going}: its instance cannot be terminated", "correct the named field of {class}", false},
	word(lifecycle.ReasonTerminateFailed) + "/NoSecret": {Stuck, "{going}: its instance cannot be terminated, because {secret} does not exist", "restore {secret}" + retried, false},
	word(lifecycle.ReasonTerminateFailed) + "/Conflict": {Stuck, "{going}: its instance cannot be terminated", "wait: the controller tries again by itself", true},
	word(lifecycle.ReasonTerminating):                   {Deleting, "{going}: its controller has requested the termination of its instance, and the infrastructure has not confirmed the termination yet", wait, true},
	word(lifecycle.ReasonUnconfirmed) + "/Deleting":     {Deleting, "{going}: its controller asks the infrastructure again whether its instance is terminated", wait, true},
	word(lifecycle.ReasonContradicted) + "/Deleting":    {Stuck, "{going}: the infrastructure does not list its instance, which contradicts other facts", "check the credentials in {credentials}, their account, and the identifying tags of the instance; if the instance does not exist, set the annotation millwright.dev/abandon-instance", false},
	word(lifecycle.ReasonInstanceGone):                  {Deleting, "{going}: its instance is terminated, and its node is being deleted", wait, true},
	word(lifecycle.ReasonNothingLeft):                   {Deleting, "{going}: only the Machine object still exists", wait, true},
	word(lifecycle.ReasonAbandoned):                     {Deleting, "{going}: its pods are not evicted, because the cluster does not answer", wait, true},

	// Certificate requests of a machine whose node is not ready.
	reasonCertificate:                      {Waiting, kubelet, "wait: the approver checks the request again", true},
	reasonCertificate + "/Long":            {Waiting, kubelet, "check whether an approver runs: `kubectl describe csr {request}`", false},
	reasonCertificate + "/Other":           {Degraded, kubelet, "compare the kubelet's request with the named objection: `kubectl describe csr {request}`", false},
	ReasonRequestDenied:                    {Degraded, unready + "and certificate request {request} of its kubelet was denied{limit}", "find out who denied the request: `kubectl describe csr {request}`; to get another request, restart the kubelet or replace the machine", false},
	word(approval.ReasonTooMany):           {Degraded, kubelet, "delete the pending certificate requests that belong to no machine", false},
	word(approval.ReasonUntrusted):         {Degraded, kubelet, "check with which token the instance boots: only bootstrap tokens of a trusted group are accepted", false},
	word(approval.ReasonTokenGone):         {Degraded, kubelet, "delete the machine: its bootstrap token has expired, and only a new machine gets a new token", false},
	word(approval.ReasonOtherToken):        {Degraded, kubelet, "check the boot data: two machines share one token", false},
	word(approval.ReasonNodeExists):        {Degraded, kubelet, "delete the existing node with this name, if it is left over from an earlier machine", false},
	word(approval.ReasonNoMachine):         {Degraded, kubelet, "check the name with which the kubelet registers: it must be the name that the infrastructure reports for the machine", false},
	word(approval.ReasonAmbiguous):         {Degraded, kubelet, "delete one of the machines with this name", false},
	word(approval.ReasonOutsideJoinWindow): {Degraded, kubelet, "delete the machine: a machine can join only within two hours of its creation", false},
	word(approval.ReasonLinked):            {Degraded, kubelet, "make sure that no second instance boots with the same data: the machine already has a node", false},
	word(approval.ReasonNoAddresses):       {Degraded, kubelet, "wait until the infrastructure reports addresses of the instance", false},
	word(approval.ReasonAddress):           {Degraded, kubelet, "compare the addresses of the request with those of the instance: the kubelet requests an address that does not belong to the machine", false},

	// Sets and deployments.
	"Available":                    {Healthy, "is in order: {count}", nothing, false},
	word(replicas.Paused) + "/Set": {Waiting, "is paused, and its controller creates and deletes no machines: {count}", "change the named setting to continue", false},
	word(replicas.Held) + "/Set":   {Waiting, "creates no machines, because a setting prevents it: {count}", "change the named setting to continue", false},
	"SelectorShared":               {Degraded, "selects the same machines as {rivals}: {count}", "give each set its own labels in selector and template: otherwise any of these sets may adopt a machine without an owner", false},
	"MachinesUnavailable":          {Progressing, "is not complete: {count}", wait, true},
	"MachineSetUpdated":            {Progressing, "is being rolled: {rolled}, {available} are available", wait, true},
	membersKey:                     {Degraded, "is not complete: {count}{unwell}", "{member next}", false},
	membersKey + "/Rolling":        {Degraded, "is being rolled: {rolled}, {available} are available{unwell}", "{member next}", false},
	membersKey + "/Complete":       {Degraded, "has machines that are not in order: {count}{unwell}", "{member next}", false},
	"Deleting/Set":                 {Deleting, "has been in deletion for {deleted}, and still has {machines}", wait, true},
	"Deleting/SetStuck":            {Stuck, "has been in deletion for {deleted}, and still has {machines}", "{member next}", false},
	ReasonNotSeen + "/Set":         {Failed, "was changed, and its controller has not acted on the change: {count}", atWork, true},
	word(rollout.InvalidObject):    {Failed, "does nothing, because it is invalid: {count}", "correct {field}; until then its controller does nothing", false},
	"Frozen":                       {Stuck, "is frozen, and creates no machines: {count}", "find out which client creates the additional machines; the set continues when few enough machines exist; to continue at once, set the annotation safety.machine.sapcloud.io/unfreeze", false},
	limits.CreationHeld:            {Waiting, "creates no more machines, because it would add more machines at once than is allowed: {count}", "to create these machines, approve their number with the annotation millwright.dev/approve-mass-creation; otherwise correct spec.replicas", false},
	deletionHeld:                   {Waiting, "deletes no machine, because it would delete more machines at once than is allowed: {count}", "to delete these machines, approve their number with the annotation millwright.dev/approve-mass-deletion; otherwise correct spec.replicas", false},
	word(rollout.Stopped):          {Failed, "has stopped its rollout: {rolled}", "correct the template, or roll back; to try the same template again, pause and resume the rollout", false},
	"CanaryWaiting":                {Waiting, "waits at the canary of its rollout{canary}: {rolled}", "check the new machines, and approve them with the annotation " + rollout.ApproveKey + `: "{revision}"`, false},
	"CanaryWaiting/Soak":           {Waiting, "waits at the canary of its rollout{canary}: {rolled}", "wait: the rollout continues in {left} if the canary stays available; to continue at once, set the annotation " + rollout.ApproveKey, true},
	rolledByHand:                   {Waiting, "waits for a user to choose the next machines of its rollout: {rolled}", "delete machines of the old template: each is replaced by a machine of the new template", false},
	rolledByHand + "/InPlace":      {Waiting, "waits for a user to choose the next machines of its rollout: {rolled}", "select the next nodes with the label selected-for-update", false},
	word(rollout.IsPaused):         {Waiting, "is paused: {rolled}, {available} are available", "to continue the rollout, set spec.paused to false; while the deployment is paused, it can be scaled, but replaces no machines", false},
	"ReplicaFailure":               {Degraded, "cannot create or delete its machines: {count}", "fix the named cause" + retriedSet, false},
	"ReplicaFailure/Quota":         {Degraded, "cannot create its machines: {count}", "raise resource quota {refuser} of namespace {namespace}, or delete objects that it counts" + retriedSet, false},
	"ReplicaFailure/Webhook":       {Degraded, "cannot create or delete its machines: {count}", "make sure that the service behind admission webhook {refuser} answers" + retriedSet, false},
	"ReplicaFailure/Denied":        {Degraded, "cannot create or delete its machines: {count}", "change the value that admission webhook {refuser} refuses, or the rules of that webhook" + retriedSet, false},
	word(rollout.DeadlineExceeded): {Degraded, "makes no progress with its rollout: {rolled}", "fix the named cause; the rollout then continues by itself", false},

	word(rollout.DeadlineExceeded) + "/Member": {Degraded, "makes no progress with its rollout: {rolled}", "{member next}", false},

	// Health checks.
	"Paused":                 {Waiting, "is paused, and checks no machine", "remove the annotation cluster.x-k8s.io/paused to continue", false},
	"InvalidSpec/Check":      {Failed, "remediates no machine, because it is invalid", "correct the named field", false},
	ReasonNotSeen + "/Check": {Failed, "was created {age} ago, and no controller has acted on it", atWork, true},
	ReasonNotSeen + "/New":   {Progressing, "was just created", wait, true},
	ReasonNoMachines:         {Degraded, "watches nothing: no machine matches its selector", "compare spec.selector with the labels of the machines: `kubectl -n {namespace} get machines.{machines} --show-labels`", false},
	"TooManyUnhealthy":       {Degraded, "remediates nothing at the moment: {sick}", "find out what the unhealthy machines have in common; the check continues when fewer machines are unhealthy, or with a greater spec.maxUnhealthy", false},
	word(lifecycle.ReasonTargetReplaced) + "/Check": {Stuck, "remediates nothing: the target cluster is not the cluster that its machines joined", "check the kubeconfig of the target cluster (--target-kubeconfig); on machines that now belong to this cluster, set the annotation millwright.dev/target-cluster to the UID of the cluster's namespace kube-system", false},
	word(lifecycle.ReasonNodeDoubted) + "/Check":    {Stuck, "remediates nothing: nodes of many machines are missing in the target cluster", "find out whether the target cluster was restored; restart the kubelets, or delete machines one by one", false},
	word(health.ReasonClusterUnknown) + "/Check":    {Stuck, "remediates nothing: it is unknown whether the target cluster is the one that its machines joined", "fix the named cause; the check then continues by itself", false},
	machinesStart:    {Progressing, "remediates nothing while machines start: {sick}", wait, true},
	"NotCalm":        {Waiting, "postpones remediation: {sick}", "wait, or find out what the unhealthy machines have in common", true},
	"SharedMachines": {Degraded, "selects machines that health check {rivals} selects as well: {sick}", "give each health check its own selector: otherwise each check counts these machines, and the check whose timeout ends first remediates them", false},
	"Unhealthy":      {Progressing, "has machines to remediate: {sick}", "wait: the check remediates each machine when its timeout has passed", true},
	"AllHealthy":     {Healthy, "is in order: {number}, all healthy", nothing, false},

	// Annotations of Millwright.
	reasonUnknownKey:    {Degraded, "{was}; but its annotation {annotation} is unknown, and has no effect", "correct the key, or remove the annotation", false},
	reasonUnreadableKey: {Degraded, "{was}; but the value of its annotation {annotation} is invalid", "correct the value, or remove the annotation", false},

	// Classes.
	"Exists":         {Healthy, "exists, and {used}", nothing, false},
	"InUse":          {Stuck, "has been in deletion for {deleted}: {used}", "delete the objects that use the class, or let them use another class: machine controllers need the class to terminate instances", false},
	"Deleting/Class": {Deleting, "has been in deletion for {deleted}: {used}", wait, true},
	reasonNoSecret:   {Degraded, "refers to a secret that does not exist: {used}", "create secret {secret}, or correct the reference", false},

	// Namespaces, nodes and certificate requests.
	"NothingThere":                 {Unknown, "has no machines, sets, deployments, health checks or classes", "list the machines of all namespaces: `kubectl get machines.machine.openshift.io,machines.machine.sapcloud.io -A`", false},
	"NothingThere/Elsewhere":       {Unknown, "has no machines, sets, deployments, health checks or classes; in other namespaces, {elsewhere} not in order", "list these objects with `kubectl machine why -A`", false},
	"NothingWrong/Elsewhere":       {Healthy, "is in order: {objects}, all of them in order; in other namespaces, {elsewhere} not in order", "list these objects with `kubectl machine why -A`", false},
	"NothingWrong":                 {Healthy, "is in order: {objects}, all of them in order", nothing, false},
	"NobodyActs":                   {Failed, "is not in order: {worst}; also, {wrong} not in order", "{member next}", false},
	ReasonUnattended:               {Failed, "is not running: no {controller name} serves the API {api}", "make sure that a {controller name} for the API {api} runs: its log says what is wrong", false},
	ReasonUnattended + "/Unseen":   {Failed, "holds its lease, but has not acted on {unseen} of the API {api}", "read the log of the lease's holder: it may serve other namespaces, lack a permission, or hang", false},
	ReasonUnattended + "/Stranger": {Failed, "is not running: another program holds its lease, and no {controller name} serves the API {api}", "find out which program holds the lease, and stop that program; a {controller name} takes the lease over when it expires", false},
	"NamespaceDeleting":            {Stuck, "has been in deletion for {deleted}, and still has {objects}", "check the remaining objects: the most urgent object is named first", false},
	"NamespaceDeleting/Held":       {Stuck, "has been in deletion for {deleted}, has no machines, sets, deployments, health checks or classes, and accepts no new ones", "find out what blocks the deletion of the namespace: `kubectl get namespace {name} -o yaml`, status.conditions", false},
	"NoKinds":                      {Unknown, "has no machines: the API server serves neither API", "install the CRDs of the APIs, or check which cluster the kubeconfig names", false},
	"NodeDeleting":                 {Deleting, "belongs to no machine, and has been in deletion for {deleted}", wait, true},
	"NodeDeleting/Held":            {Stuck, "belongs to no machine, and has been in deletion for {deleted}, held by {finalizers}", "make sure that the program that set the finalizer runs; remove the finalizer only if this program will never run again", false},
	"SomethingWrong":               {Degraded, "is not in order: {wrong} to look at among {objects}, the worst is {worst}", "{member next}", false},
	"NodeOfMachine":                {Degraded, "belongs to {worst}", "{member next}", false},
	"NodeWithoutMachine":           {Healthy, "belongs to no machine, and has been Ready{ready}", nothing, false},
	"NodeWithoutMachine/Unready":   {Degraded, "belongs to no machine, and has been {condition}{unwell}", "find out who created the node: no machine controller manages it", false},
	"RequestPending":               {Waiting, "has been pending for {asked}, and belongs to {of}", "{member next}", false},
	"RequestSettled":               {Healthy, "was decided: {settled}", nothing, false},
	"RequestOfOthers":              {Waiting, "has been pending for {asked}, and is not for a kubelet's first certificate", "find the approver of its signer: `kubectl describe csr {request}`", false},

	// Objects that do not exist, or are ambiguous.
	reasonGone:                  {Gone, "does not exist any more", "if its replacements fail in the same way, " + fixAll, false},
	reasonGone + "/GivenUp":     {Gone, "does not exist any more: it became Failed {ago}{after}", "if its replacements fail in the same way, " + fixAll, false},
	reasonGone + "/NeverJoined": {Gone, "does not exist any more: it was deleted {ago}{after}, and its node had never joined", "if its replacements fail in the same way, " + fixAll, false},
	reasonGone + "/NodeDeleted": {Gone, "does not exist any more: it was deleted {ago}{after}, because its node had been deleted", "find out who deleted the node: a user, or the cloud controller manager because the instance did not run", false},
	reasonGone + "/Unwell":      {Gone, "does not exist any more: it was deleted {ago}{after}, while its node was missing or unhealthy", "if its replacements fail in the same way, " + fixAll, false},
	reasonGone + "/Deleted":     {Gone, "does not exist any more: it was deleted {ago}{after}: {because}", "`kubectl machine history machine/{name} -n {namespace}` shows its history", false},
	reasonGone + "/Unexplained": {Gone, "does not exist any more: it was deleted {ago}{after}, and no event or record says why", "the audit log of the API server names the client, if it is enabled", false},
	reasonGone + "/NodeLeft":    {Gone, "does not exist any more, but its node {node} still exists", "delete the node, if no instance runs its kubelet: `kubectl describe node {node}`", false},
	reasonGone + "/NodeLeaving": {Gone, "does not exist any more, and its node {node} has been in deletion for {deleted}", wait, true},
	reasonGone + "/NodeHeld":    {Stuck, "does not exist any more, and its node {node} has been in deletion for {deleted}, held by {finalizers}", "make sure that the program that set the finalizer runs; remove the finalizer only if this program will never run again", false},
	ReasonNotFound:              {Unknown, "does not exist, and no evidence of it is kept", "list the existing names: `kubectl get {kinds}`, or give the namespace with -n", false},
	ReasonNotFound + "/Near":    {Unknown, "does not exist, and no evidence of it is kept", "did you mean one of these: {near}? Deleted machines are recorded for 24 hours", false},
	ReasonNotReadable:           {Unknown, "was not found, but some objects could not be read", "list the existing names: `kubectl get {kinds}`, or give the namespace with -n", false},
	ReasonNotReadable + "/Near": {Unknown, "was not found, but some objects could not be read", "did you mean one of these: {near}", false},
	"SeveralObjects":            {Ambiguous, "is ambiguous: {count} objects have the name", "say which API: {api name}", false},
	"SeveralObjects/Namespaces": {Ambiguous, "is ambiguous: {count} objects have the name", "say which namespace: -n {first namespace}", false},
}

// ReasonUnattended is the reason of an object that waits for a controller that does not run.
const ReasonUnattended = "ControllerNotRunning"

const kubelet = unready + "and its kubelet has waited for {asked} for a certificate{limit}"

// Reasons that no controller reports.
const (
	ReasonNotSeen     = "NotSeen"
	ReasonNotFound    = "NotFound"
	ReasonNotReadable = "NotReadable"
	// ReasonNoMachines is the reason of checks that select no machine.
	ReasonNoMachines = "NoMachines"
	// ReasonRequestDenied is the reason of denied certificate requests.
	ReasonRequestDenied = "CertificateDenied"

	reasonStopped  = "InstanceStopped"
	reasonSquatter = "NodeNameTaken"

	reasonUnknownKey    = "UnknownAnnotation"
	reasonUnreadableKey = "UnreadableAnnotation"
	reasonNoSecret      = "SecretMissing"
	reasonGone          = "Gone"
	reasonForeign       = "ForeignFinalizer"
	reasonCertificate   = "CertificatePending"
)

func word[R ~string](r R) string { return string(r) }

// finding is the problem or state of an object.
type finding struct {
	// key is the key of the advice.
	key string
	// reason is the recorded reason; empty: that of the key.
	reason string
	// state and text override those of the advice, if set.
	state State
	text  string
	chain []Cause
	// fill has the values for the placeholders, each after its name.
	fill []string
}

// with adds values for placeholders.
func (f finding) with(pairs ...string) finding {
	f.fill = append(f.fill[:len(f.fill):len(f.fill)], pairs...)
	return f
}

// variant returns the key of a reason with a specific meaning, or the reason's own key if the table has no
// such entry.
func variant[R ~string](reason R, of string) string {
	if key := string(reason) + "/" + of; reasons[key].text != "" {
		return key
	}
	return string(reason)
}

// answer fills in the advice.
func (f finding) answer(s Subject, gaps []string) Answer {
	a := reasons[f.key]
	reason := reasonOf(f.key)
	if f.reason != "" {
		reason = f.reason
	}
	if f.state != "" {
		a.state = f.state
	}
	if f.text != "" {
		a.text = f.text
	}
	fill := append(f.fill[:len(f.fill):len(f.fill)], "api", s.API, "namespace", s.Namespace, "name", s.Name)
	return Answer{Subject: s, State: a.state, Reason: reason, Sentence: s.String() + " " + fillIn(a.text, fill) + ".", Because: f.chain, Next: fillIn(a.next, fill), Gaps: gaps}
}

// fillIn replaces the placeholders. Of two values for one placeholder the first counts.
func fillIn(text string, fill []string) string {
	if !strings.Contains(text, "{") { // a replacer costs more than the rest of an answer
		return text
	}
	pairs := make([]string, len(fill))
	for i, word := range fill {
		if pairs[i] = word; i%2 == 0 {
			pairs[i] = "{" + word + "}"
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// reasonOf returns the reason in the key of an advice.
func reasonOf(key string) string {
	reason, _, _ := strings.Cut(key, "/")
	return reason
}
