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

// advice is what a reason means to a person. Words in braces are filled in.
type advice struct {
	state State
	// text goes on after the subject: "is being deleted ...".
	text, next string
	// waits says that only the controller is waited for, so that its absence is the
	// reason.
	waits bool
}

// What keys have after the slash for kinds of failures.
const (
	exhausted = string(provider.Exhausted)
	denied    = string(provider.Denied)
	invalid   = string(provider.Invalid)
)

// Parts of texts that several reasons share.
const (
	nothing    = "nothing is to be done"
	wait       = "wait"
	noInstance = "has no instance after {age}{limit}: "
	unready    = "is not ready: its instance runs, "
	updating   = "is being updated in place: "
	retried    = "; the controller tries again by itself"
	atWork     = "see that a {controller} runs, leads, and serves the API {api} and the namespace {namespace}"
	look       = "look at the node: `kubectl describe node {node}`"
	stopped    = "find out what stopped the instance"
	fixAll     = "fix the cause, in what machines are made from"
)

// refusals are the reasons of machines without an instance, by why they have none.
var refusals = map[provider.Kind]string{
	provider.Exhausted: "ResourceExhausted", provider.Invalid: "InvalidConfiguration", provider.Denied: "PermissionDenied", provider.Conflict: "Conflict",
}

// reasons say of each reason how the object is and what to do next. A reason that
// means more than one thing has an entry for each, named after a slash.
var reasons = map[string]advice{
	// A machine that lives, in the order of lifecycle.
	word(lifecycle.ReasonNew):                            {Progressing, "was made {age} ago, and its controller begins with it", wait, true},
	ReasonNotSeen:                                        {Failed, "was made {age} ago, and no controller has looked at it", atWork, true},
	word(lifecycle.ReasonInvalidObject):                  {Failed, "cannot be made: {field} is wrong", "correct {field}, in the template where the machine was made from one, and delete the machine", false},
	word(lifecycle.ReasonFailed):                         {Failed, "failed{failed}", "fix the cause, delete the machine and make another: nothing else does", false},
	word(lifecycle.ReasonFailed) + "/Owned":              {Failed, "failed{failed}", "fix the cause and delete the machine, unless a health check does: {owner} makes another", false},
	word(lifecycle.ReasonFailed) + "/Template":           {Failed, "failed{failed}", "correct what is named in the template of {owner}, and delete the machine: {owner} makes another", false},
	word(lifecycle.ReasonFailed) + "/Exhausted":          {Failed, "failed{failed}", "raise the quota, or ask for another type or zone, and delete the machine: {owner} makes another", false},
	word(lifecycle.ReasonFailed) + "/" + denied:          {Failed, "failed{failed}", "renew the credentials in {credentials}, or grant them what is named, and delete the machine: {owner} makes another", false},
	word(lifecycle.ReasonFailed) + "/InstanceGone":       {Failed, "failed{failed}: its instance does not exist any more", "find out who terminated the instance at the infrastructure, and delete the machine, unless a health check does: {owner} makes another", false},
	word(lifecycle.ReasonFailed) + "/Replaced":           {Failed, "failed{failed}", "wait: {owner} deletes it and makes another; fix the cause, or the next one ends like this", true},
	word(lifecycle.ReasonFailed) + "/Preserved":          {Failed, "failed{failed}, and is preserved for inspection for another {left}", "inspect it; when the time is over, or the preservation is taken off, it is replaced", false},
	reasonNoSecret + "/Machine":                          {Degraded, noInstance + "{secret} does not exist", "create {secret}, or correct the reference" + retried, false},
	word(lifecycle.ReasonClassUnavailable):               {Degraded, "has no instance, because its {class} does not exist", "create {class} in namespace {namespace}, or correct the reference", false},
	word(lifecycle.ReasonLookupFailed):                   {Degraded, noInstance + "the infrastructure does not say whether it has one", "fix what is named, or renew the credentials in {credentials} if they are refused" + retried, false},
	word(lifecycle.ReasonGivenUp):                        {Degraded, noInstance + "the infrastructure accepted it and gave it up", "fix the cause, or delete the machine to have another one made where there is room", false},
	word(lifecycle.ReasonGivenUp) + "/" + exhausted:      {Degraded, noInstance + "the infrastructure accepted it and gave it up", "raise the quota, or ask for another type or zone; delete the machine to have another one made where there is room", false},
	word(lifecycle.ReasonGivenUp) + "/" + denied:         {Degraded, noInstance + "the infrastructure accepted it and gave it up", "renew the credentials in {credentials}, or grant them what is named, and delete the machine: another is made", false},
	word(lifecycle.ReasonGivenUp) + "/" + invalid:        {Degraded, noInstance + "the infrastructure accepted it and gave it up", "correct the field that is named in {class}, and delete the machine: another is made", false},
	word(lifecycle.ReasonTaken):                          {Degraded, noInstance + "another instance has its name", "remove the instance that has the name, or delete the machine", false},
	word(lifecycle.ReasonDuplicate):                      {Progressing, "has more than one instance, and its controller records which is its own", wait, true},
	word(lifecycle.ReasonUserData):                       {Degraded, noInstance + "there are no boot data", "create what is named, or correct the reference" + retried, false},
	word(lifecycle.ReasonNoInstance):                     {Progressing, "is being created: it has no instance yet after {age}{limit}", wait, true},
	word(lifecycle.ReasonRetry):                          {Degraded, noInstance + "every attempt to create one has failed", "fix what is named" + retried, false},
	word(lifecycle.ReasonCreateFailed):                   {Degraded, noInstance + "every attempt to create one has failed", "fix what is named" + retried, false},
	word(lifecycle.ReasonCreateFailed) + "/" + exhausted: {Degraded, noInstance + "every attempt to create one has failed", "raise the quota, or ask for another type or zone" + retried, false},
	word(lifecycle.ReasonCreateFailed) + "/" + denied:    {Degraded, noInstance + "every attempt to create one has failed", "renew the credentials in {credentials}, or grant them what is named" + retried, false},
	refusals[provider.Exhausted]:                         {Degraded, noInstance + "quota or capacity of the infrastructure is used up", "raise the quota, or ask for another type or zone" + retried, true},
	refusals[provider.Invalid]:                           {Degraded, noInstance + "what it is to be made from is refused", "correct the field that is named in {class}", false},
	refusals[provider.Denied]:                            {Degraded, noInstance + "the infrastructure denies its credentials", "renew the credentials in {credentials}, or grant them what is named" + retried, false},
	refusals[provider.Conflict]:                          {Degraded, noInstance + "something else is under way at the infrastructure", "wait: the controller tries again by itself", true},
	word(lifecycle.ReasonCreateTimeout):                  {Failed, noInstance + "its time is over, and it becomes Failed", fixAll, false},
	word(lifecycle.ReasonPending):                        {Progressing, "is being made: the infrastructure works on its instance, {age} after it was asked for{limit}", wait, true},
	word(lifecycle.ReasonUninitialized):                  {Progressing, "is being made: its instance is being initialized", wait, true},
	word(lifecycle.ReasonUnconfirmed):                    {Progressing, "waits until the infrastructure lists its instance, which was asked for", wait, true},
	word(lifecycle.ReasonMissing):                        {Failed, "is not healthy: its instance is gone, and it becomes Failed", "find out who removed the instance", false},
	word(lifecycle.ReasonContradicted):                   {Degraded, "runs, but the infrastructure does not list its instance", "check the credentials in {credentials}, and which account they open, and whether the instance still has the tags by which it is found: nothing is done about the instance until then", false},
	word(lifecycle.ReasonRebootAsked):                    {Progressing, "is being rebooted", wait, true},
	word(lifecycle.ReasonDetached):                       {Healthy, "is in order: its instance runs, and no node is expected of it", nothing, false},
	reasonStopped:                                        {Degraded, "is not healthy: {stopped}", stopped + ", and start it or delete the machine", false},
	word(lifecycle.ReasonAwaitingNode):                   {Progressing, "is starting: its instance runs, and no node has joined yet{limit}", wait, true},
	word(lifecycle.ReasonAwaitingNode) + "/Long":         {Degraded, unready + "but no node has joined for {joining}{limit}", "read the console of the instance: boot data, image and network decide whether a kubelet starts{health}", false},
	word(lifecycle.ReasonAwaitingNode) + "/Silent":       {Progressing, unready + "but no node has joined for {joining}{limit}", "wait another {left}; if no certificate request has come by then, read the console of the instance: boot data, image and network decide whether a kubelet starts", false},
	reasonSquatter:                                       {Degraded, unready + "but node {squatter}, which is not its own, has its name{limit}", "delete node {squatter}, if it is left over from an earlier machine: `kubectl describe node {squatter}`", false},
	word(lifecycle.ReasonAwaitingNode) + "/Unready":      {Progressing, "is not ready: its node {node} has joined, and does not count as healthy yet{limit}", wait, true},
	word(lifecycle.ReasonAwaitingNode) + "/Stays":        {Degraded, "is not ready: its node {node} has joined, and does not count as healthy yet{limit}", "fix what keeps the node from being ready: `kubectl describe node {node}`", false},
	word(lifecycle.ReasonJoinTimeout):                    {Failed, "did not join in time{limit}, and becomes Failed", fixAll, false},
	word(lifecycle.ReasonNodeUnknown):                    {Unknown, "runs, as far as it says itself; its node cannot be seen", "ask with the right to read nodes, in the cluster that the machine joins (--target-kubeconfig)", false},
	word(lifecycle.ReasonNodeUnknown) + "/Unreached":     {Unknown, "runs, as far as it says itself; its node cannot be seen", "see that the API server of the cluster that the machine joins answers, and that it is the one that was asked (--target-kubeconfig)", false},
	word(lifecycle.ReasonNodeMissing):                    {Failed, "is not healthy: its node {node} does not exist", "delete the machine, as the node comes back only if its kubelet registers again; {remedy}", false},
	word(lifecycle.ReasonNodeMissing) + "/Replaced":      {Degraded, "is not healthy: its node {node} does not exist", "wait: the machine is replaced", true},
	word(lifecycle.ReasonNodeMissing) + "/Timed":         {Degraded, "is not healthy: its node {node} does not exist", "restart its kubelet, which registers the node again; in {left} the machine becomes Failed and is replaced, one of its deployment at a time, and at once where you delete it", false},
	word(lifecycle.ReasonTargetReplaced):                 {Stuck, "is frozen: the target cluster is not the cluster that it joined", "check the kubeconfig of the target cluster (--target-kubeconfig); if the machine belongs there now, set the annotation millwright.dev/target-cluster to the UID of its namespace kube-system", false},
	word(lifecycle.ReasonNodeDoubted):                    {Stuck, "waits: its node and those of other machines are missing in the target cluster", "find out whether the target cluster was restored; restart the kubelets, or force the deletion of machines one by one", false},
	word(lifecycle.ReasonNodeStale):                      {Progressing, "is healthy, and its node {node} gets the labels and taints that it asks for", wait, true},
	word(lifecycle.ReasonNodeUnhealthy):                  {Degraded, "is not healthy: its node {node} has been {condition}{unwell}", look + "; {remedy}", false},
	word(lifecycle.ReasonNodeUnhealthy) + "/Timed":       {Degraded, "is not healthy: its node {node} has been {condition}{unwell}", look + "; in {left} the machine becomes Failed and is replaced", false},
	reasonStopped + "/Unready":                           {Degraded, "is not healthy: its node {node} has been {condition}{unwell}", stopped + ", and start it or delete the machine; {remedy}", false},
	reasonStopped + "/Timed":                             {Degraded, "is not healthy: its node {node} has been {condition}{unwell}", stopped + "; in {left} the machine becomes Failed and is replaced, and at once where you delete it", false},
	word(lifecycle.ReasonHealthTimeout):                  {Failed, "has been unhealthy for too long, and becomes Failed", fixAll, false},
	word(lifecycle.ReasonFailureWithheld):                {Degraded, "is not healthy: its node {node} has been {condition}{unwell}", "look at the other machines of the deployment, and at the log of the machine controller", false},
	word(lifecycle.ReasonReconnected):                    {Progressing, "gets another chance, because the API server was out of reach", wait, true},
	word(lifecycle.ReasonRunning):                        {Healthy, "is healthy: its node {node} has been Ready{ready}", nothing, false},
	word(lifecycle.ReasonRunning) + "/Cordoned":          {Healthy, "is healthy: its node {node} has been Ready{ready}", "`kubectl uncordon {node}` when whoever cordoned it is done", false},
	word(lifecycle.ReasonRecovered):                      {Progressing, "is healthy: its node {node} has been Ready{ready}", "wait: the controllers are about to see it", true},
	word(lifecycle.ReasonJoined):                         {Progressing, "is healthy: its node {node} has been Ready{ready}", "wait: the controllers are about to see it", true},

	// Updates in place.
	word(lifecycle.ReasonUpdateCandidate): {Progressing, updating + "node {node} waits for its turn", wait, true},
	word(lifecycle.ReasonUpdateSelected):  {Progressing, updating + "it is the turn of node {node}", wait, true},
	word(lifecycle.ReasonUpdateDraining):  {Progressing, updating + "node {node} is drained for it", "wait: the pods are on their way", true},
	word(lifecycle.ReasonUpdateDrained):   {Progressing, updating + "node {node} is drained", wait, true},
	word(lifecycle.ReasonUpdateReady):     {Progressing, updating + "node {node} is ready for its agent", wait, true},
	word(lifecycle.ReasonUpdating):        {Progressing, "is being updated in place{since}{update}", "wait for the agent on node {node}", false},
	word(lifecycle.ReasonUpdated):         {Progressing, "was updated in place, and is handed over to the new set", wait, true},
	word(lifecycle.ReasonUpdateFailed):    {Failed, "could not be updated in place{since}", "take the label update-result off node {node} to try again, selected-for-update too to call it off; else it is replaced", false},
	word(lifecycle.ReasonUpdateTimeout):   {Failed, "could not be updated in place in time{update}", "find out what the agent on node {node} does; else it is replaced", false},
	word(lifecycle.ReasonUpdateWithdrawn): {Progressing, "was to be updated in place, and is not any more", wait, true},

	// A machine on its way out, in that order.
	word(lifecycle.ReasonReleased):                      {Deleting, "{going}: all is done, and the object goes at any moment", wait, true},
	reasonForeign:                                       {Stuck, "{going}: its instance is gone, and a finalizer of another program holds the object", "see that the program which put it there runs; take the finalizer off only if it never will", false},
	word(lifecycle.ReasonDrainBlockedHook):              {Stuck, "{going}: it is not drained before the pre-drain hook {hook} of {hook owner} is taken off", "see what {hook owner} waits for; it takes the hook off when it is done", false},
	word(lifecycle.ReasonNodeUnknown) + "/Deleting":     {Stuck, "{going}: whether its node is there cannot be seen", "ask with the right to read nodes, in the cluster that the machine joins (--target-kubeconfig)", false},
	word(lifecycle.ReasonDeleting):                      {Deleting, "{going}: its removal has begun, and nothing is recorded that is in the way", wait, true},
	word(lifecycle.ReasonDeleting) + "/NotBegun":        {Deleting, "{going}: it was asked for, and no controller has begun with it", wait, true},
	word(lifecycle.ReasonDeleting) + "/NotSeen":         {Stuck, "{going}: it was asked for, and no controller has begun with it", atWork, true},
	word(lifecycle.ReasonDraining):                      {Deleting, "{going}: {pods} still on node {node}", "wait: the pods are on their way", true},
	word(lifecycle.ReasonDraining) + "/Unseen":          {Deleting, "{going}: its node {node} is being drained", "wait: the pods are on their way", true},
	string(drain.ReasonBudget):                          {Stuck, "{going}: pod {pod} cannot leave node {node}, because disruption budget {budget} allows no disruption", "wait until the pods of {budget} that moved are Ready elsewhere", false},
	string(drain.ReasonBudget) + "/Sick":                {Stuck, "{going}: pod {pod} cannot leave node {node}, because disruption budget {budget} allows no disruption", "fix pod {sick}, which is not Ready: the budget gives way when enough are", false},
	string(drain.ReasonBudget) + "/Few":                 {Stuck, "{going}: pod {pod} cannot leave node {node}, because disruption budget {budget} allows no disruption", "run more pods of those that {budget} covers", false},
	string(drain.ReasonBudget) + "/Never":               {Stuck, "{going}: pod {pod} cannot leave node {node}, because disruption budget {budget} allows no disruption", "change disruption budget {budget}, which allows no disruption even with all pods healthy, or run more replicas", false},
	string(drain.ReasonBudget) + "/Broken":              {Stuck, "{going}: pod {pod} cannot leave node {node}, because disruption budget {budget} allows no disruption", "delete pod {pod} by hand, or change disruption budget {budget}: it never allows a disruption, as it cannot be computed", false},
	string(drain.ReasonBudgets):                         {Stuck, "{going}: pod {pod} cannot leave node {node}, because several disruption budgets cover it", "let one budget cover the pod, of {budget} and the others: the API server evicts none that more cover", false},
	string(drain.ReasonStillAttached):                   {Deleting, "{going}: its pods have left, and {volumes} still attached to node {node}", "wait for the volumes to be detached; if it takes long, look at the log of their driver", false},
	string(drain.ReasonStillAttached) + "/Failing":      {Stuck, "{going}: its pods have left, and {volumes} still attached to node {node}", "look at the log of the volumes' driver, which cannot detach them", false},
	word(lifecycle.ReasonTerminateHook):                 {Stuck, "{going}: it is not terminated before the pre-terminate hook {hook} of {hook owner} is taken off", "see what {hook owner} waits for; it takes the hook off when it is done", false},
	word(lifecycle.ReasonDeletionNeedsHelp):             {Stuck, "{going}: its instance cannot be removed, because its {class} does not exist", "restore {class}; only if the instance is known to be gone, let the object go with the annotation millwright.dev/abandon-instance", false},
	word(lifecycle.ReasonTerminateFailed):               {Stuck, "{going}: its instance cannot be removed", "fix what is named" + retried, false},
	word(lifecycle.ReasonTerminateFailed) + "/Denied":   {Stuck, "{going}: its instance cannot be removed", "renew the credentials in {credentials}, or grant them what is named" + retried, false},
	word(lifecycle.ReasonTerminateFailed) + "/Invalid":  {Stuck, "{going}: its instance cannot be removed", "correct the field that is named in {class}", false},
	word(lifecycle.ReasonTerminateFailed) + "/NoSecret": {Stuck, "{going}: its instance cannot be removed, because {secret} does not exist", "restore {secret}" + retried, false},
	word(lifecycle.ReasonTerminateFailed) + "/Conflict": {Stuck, "{going}: its instance cannot be removed", "wait: the controller tries again by itself", true},
	word(lifecycle.ReasonTerminating):                   {Deleting, "{going}: the infrastructure was asked to remove its instance, and has not confirmed that it is gone", wait, true},
	word(lifecycle.ReasonUnconfirmed) + "/Deleting":     {Deleting, "{going}: the infrastructure is asked again whether its instance is gone", wait, true},
	word(lifecycle.ReasonContradicted) + "/Deleting":    {Stuck, "{going}: the infrastructure does not list its instance, and is not believed", "check the credentials in {credentials}, and which account they open, and whether the instance still has the tags by which it is found; if the instance is gone, set the annotation millwright.dev/abandon-instance", false},
	word(lifecycle.ReasonInstanceGone):                  {Deleting, "{going}: its instance is gone, and its node is deleted", wait, true},
	word(lifecycle.ReasonNothingLeft):                   {Deleting, "{going}: nothing is left of it but the object", wait, true},
	word(lifecycle.ReasonAbandoned):                     {Deleting, "{going}: its pods are left behind, because the cluster does not answer", wait, true},

	// Certificate requests of a machine whose node is not ready.
	reasonCertificate:                      {Waiting, kubelet, "wait: the request is looked at again by itself", true},
	reasonCertificate + "/Long":            {Waiting, kubelet, "see whether an approver runs: `kubectl describe csr {request}`", false},
	reasonCertificate + "/Other":           {Degraded, kubelet, "compare what the kubelet asks for with what is objected to: `kubectl describe csr {request}`", false},
	ReasonRequestDenied:                    {Degraded, unready + "and certificate request {request} of its kubelet was denied{limit}", "find out who denied it: `kubectl describe csr {request}`; its kubelet asks again when it is restarted, and another machine asks anew", false},
	word(approval.ReasonTooMany):           {Degraded, kubelet, "clear the crowd: delete pending certificate requests that belong to no machine", false},
	word(approval.ReasonUntrusted):         {Degraded, kubelet, "see with which token the instance boots: only bootstrap tokens of a trusted group are accepted", false},
	word(approval.ReasonTokenGone):         {Degraded, kubelet, "delete the machine: its bootstrap token has expired, and another machine gets another", false},
	word(approval.ReasonOtherToken):        {Degraded, kubelet, "see where the boot data come from: two machines share one token", false},
	word(approval.ReasonNodeExists):        {Degraded, kubelet, "delete the node of that name, if it is left over from an earlier machine", false},
	word(approval.ReasonNoMachine):         {Degraded, kubelet, "see under which name the kubelet registers: it must be the one that the infrastructure reports for the machine", false},
	word(approval.ReasonAmbiguous):         {Degraded, kubelet, "delete one of the machines that have the name", false},
	word(approval.ReasonOutsideJoinWindow): {Degraded, kubelet, "delete the machine: it may join within two hours of its creation", false},
	word(approval.ReasonLinked):            {Degraded, kubelet, "see that no second instance boots with the same data: the machine has its node already", false},
	word(approval.ReasonNoAddresses):       {Degraded, kubelet, "wait for the infrastructure to report addresses of the instance", false},
	word(approval.ReasonAddress):           {Degraded, kubelet, "compare the addresses of the request with those of the instance: the kubelet asks for one that is not the machine's", false},

	// Sets and deployments.
	"Available":                    {Healthy, "is in order: {count}", nothing, false},
	word(replicas.Paused) + "/Set": {Waiting, "is paused, and its controller makes and deletes no machines: {count}", "undo what is named to go on", false},
	word(replicas.Held) + "/Set":   {Waiting, "makes no machines, because somebody wants that: {count}", "undo what is named to go on", false},
	"SelectorShared":               {Degraded, "selects the same machines as {rivals}: {count}", "give each set a selector, and a template, with labels of its own: a machine without an owner is adopted by any of them", false},
	"MachinesUnavailable":          {Progressing, "is not complete: {count}", wait, true},
	"MachineSetUpdated":            {Progressing, "is being rolled: {rolled}, {available} are available", wait, true},
	membersKey:                     {Degraded, "is not complete: {count}{unwell}", "{member next}", false},
	membersKey + "/Rolling":        {Degraded, "is being rolled: {rolled}, {available} are available{unwell}", "{member next}", false},
	membersKey + "/Complete":       {Degraded, "has machines that are not in order: {count}{unwell}", "{member next}", false},
	"Deleting/Set":                 {Deleting, "has been in deletion for {deleted}: {machines} left", wait, true},
	"Deleting/SetStuck":            {Stuck, "has been in deletion for {deleted}: {machines} left", "{member next}", false},
	ReasonNotSeen + "/Set":         {Failed, "was changed, and its controller has not looked at it since: {count}", atWork, true},
	word(rollout.InvalidObject):    {Failed, "does nothing, because it cannot be understood: {count}", "correct {field}; nothing is done before", false},
	"Frozen":                       {Stuck, "is frozen, and makes no machines: {count}", "find out who makes machines that are not counted; it thaws by itself when there are few enough, or at once with the annotation safety.machine.sapcloud.io/unfreeze", false},
	limits.CreationHeld:            {Waiting, "makes no more machines, because more would be added at once than was allowed: {count}", "if so many are to come, approve their number with the annotation millwright.dev/approve-mass-creation; else correct spec.replicas", false},
	deletionHeld:                   {Waiting, "deletes no machine, because more would go at once than was allowed: {count}", "if so many are to go, approve their number with the annotation millwright.dev/approve-mass-deletion; else correct spec.replicas", false},
	word(rollout.Stopped):          {Failed, "has stopped its rollout: {rolled}", "fix the template, or roll back; the rollout goes on with another template, or after a pause", false},
	"CanaryWaiting":                {Waiting, "waits at the canary of its rollout{canary}: {rolled}", "look at the new machines, and approve them with the annotation " + rollout.ApproveKey + `: "{revision}"`, false},
	"CanaryWaiting/Soak":           {Waiting, "waits at the canary of its rollout{canary}: {rolled}", "wait: it goes on in {left} if the canary stays available, or at once with the annotation " + rollout.ApproveKey, true},
	rolledByHand:                   {Waiting, "waits for somebody to choose the next machines of its rollout: {rolled}", "delete machines of the old template: each is replaced by one of the new", false},
	rolledByHand + "/InPlace":      {Waiting, "waits for somebody to choose the next machines of its rollout: {rolled}", "select nodes to be updated, with the label selected-for-update", false},
	word(rollout.IsPaused):         {Waiting, "is paused: {rolled}, {available} are available", "set spec.paused to false to go on; a paused deployment is scaled, and not rolled", false},
	"ReplicaFailure":               {Degraded, "cannot make or remove its machines: {count}", "fix what is named" + retried, false},
	"ReplicaFailure/Quota":         {Degraded, "cannot make its machines: {count}", "raise resource quota {refuser} of namespace {namespace}, or delete what counts towards it" + retried, false},
	"ReplicaFailure/Webhook":       {Degraded, "cannot make or remove its machines: {count}", "see that the service behind admission webhook {refuser} answers" + retried, false},
	"ReplicaFailure/Denied":        {Degraded, "cannot make or remove its machines: {count}", "change what admission webhook {refuser} objects to, or the rules of that webhook" + retried, false},
	word(rollout.DeadlineExceeded): {Degraded, "makes no progress with its rollout: {rolled}", "fix what is named; it goes on by itself", false},

	word(rollout.DeadlineExceeded) + "/Member": {Degraded, "makes no progress with its rollout: {rolled}", "{member next}", false},

	// Health checks.
	"Paused":                 {Waiting, "is paused, and looks at no machine", "take the annotation cluster.x-k8s.io/paused off to go on", false},
	"InvalidSpec/Check":      {Failed, "remedies nobody, because it cannot be understood", "correct what is named", false},
	ReasonNotSeen + "/Check": {Failed, "was made {age} ago, and no controller has looked at it", atWork, true},
	ReasonNotSeen + "/New":   {Progressing, "was just made", wait, true},
	ReasonNoMachines:         {Degraded, "watches nothing: no machine matches its selector", "compare spec.selector with the labels that machines have: `kubectl -n {namespace} get machines.{machines} --show-labels`", false},
	"TooManyUnhealthy":       {Degraded, "remedies nothing at the moment: {sick}", "find out what the unhealthy machines have in common; it goes on by itself when there are fewer, or with a greater spec.maxUnhealthy", false},
	word(lifecycle.ReasonTargetReplaced) + "/Check": {Stuck, "remedies nothing: the target cluster is another one than its machines joined", "check the kubeconfig of the target cluster (--target-kubeconfig); on machines that belong there now, set the annotation millwright.dev/target-cluster to the UID of its namespace kube-system", false},
	word(lifecycle.ReasonNodeDoubted) + "/Check":    {Stuck, "remedies nothing: nodes of many machines are missing in the target cluster", "find out whether the target cluster was restored; restart the kubelets, or delete machines one by one", false},
	word(health.ReasonClusterUnknown) + "/Check":    {Stuck, "remedies nothing: it is not known whether the target cluster is the one that its machines joined", "correct what is named; it goes on by itself", false},
	machinesStart:    {Progressing, "waits for machines that start, and remedies nothing until then: {sick}", wait, true},
	"NotCalm":        {Waiting, "holds something back: {sick}", "wait, or find out what the unhealthy machines have in common", true},
	"SharedMachines": {Degraded, "selects machines that health check {rivals} selects as well: {sick}", "give each health check a selector of its own: each counts the machine, and the first whose time is over remediates it", false},
	"Unhealthy":      {Progressing, "has something to do: {sick}", "wait: each is remedied when its timeouts are over", true},
	"AllHealthy":     {Healthy, "is in order: {number}, all healthy", nothing, false},

	// Annotations of ours.
	reasonUnknownKey:    {Degraded, "{was}; but its annotation {annotation} is unknown, and has no effect", "correct the key, or take the annotation off", false},
	reasonUnreadableKey: {Degraded, "{was}; but the value of its annotation {annotation} is invalid", "correct the value, or take the annotation off", false},

	// Classes.
	"Exists":         {Healthy, "is there, and {used}", nothing, false},
	"InUse":          {Stuck, "has been in deletion for {deleted}: {used}", "delete what uses it, or let it use another class: instances are removed through the class", false},
	"Deleting/Class": {Deleting, "has been in deletion for {deleted}: {used}", wait, true},
	reasonNoSecret:   {Degraded, "lacks what machines are made with: {used}", "create secret {secret}, or correct the reference", false},

	// Namespaces, nodes and certificate requests.
	"NothingThere":                 {Unknown, "has no machines, sets, deployments, health checks or classes", "see where there are some: `kubectl get machines.machine.openshift.io,machines.machine.sapcloud.io -A`", false},
	"NothingWrong":                 {Healthy, "is in order: {objects}, and nothing is wrong with any", nothing, false},
	"NobodyActs":                   {Failed, "is not in order: {worst}; {wrong} not in order besides", "{member next}", false},
	ReasonUnattended:               {Failed, "is not at work: no {controller name} for the API {api} acts", "see that a {controller name} for the API {api} runs: its log says what is wrong", false},
	ReasonUnattended + "/Unseen":   {Failed, "leads, and has not looked at {unseen} of the API {api}", "read the log of the holder of the lease: it serves other namespaces, may not read what it needs, or hangs", false},
	ReasonUnattended + "/Stranger": {Failed, "is not at work: something else holds its lease, and no {controller name} for the API {api} acts", "find out which program holds the lease, and end it; a {controller name} takes the lease over when it expires", false},
	"NamespaceDeleting":            {Stuck, "has been in deletion for {deleted}: {objects} left", "see what holds the objects that are left: the worst is named first", false},
	"NamespaceDeleting/Held":       {Stuck, "has been in deletion for {deleted}, has no machines, sets, deployments, health checks or classes, and accepts no new ones", "see what holds the namespace: `kubectl get namespace {name} -o yaml`, status.conditions", false},
	"NoKinds":                      {Unknown, "has no machines: the API server knows neither API", "install the CRDs of the APIs, or see which cluster the kubeconfig names", false},
	"NodeDeleting":                 {Deleting, "is of no machine, and has been in deletion for {deleted}", wait, true},
	"NodeDeleting/Held":            {Stuck, "is of no machine, and has been in deletion for {deleted}, held by {finalizers}", "see that the program which put the finalizer there runs; take the finalizer off only if it never will", false},
	"SomethingWrong":               {Degraded, "is not in order: {wrong} to look at among {objects}, the worst is {worst}", "{member next}", false},
	"NodeOfMachine":                {Degraded, "is that of {worst}", "{member next}", false},
	"NodeWithoutMachine":           {Healthy, "is of no machine, and has been Ready{ready}", nothing, false},
	"NodeWithoutMachine/Unready":   {Degraded, "is of no machine, and has been {condition}{unwell}", "find out who made the node: no machine controller looks after it", false},
	"RequestPending":               {Waiting, "has been pending for {asked}, and is of {of}", "{member next}", false},
	"RequestSettled":               {Healthy, "was decided: {settled}", nothing, false},
	"RequestOfOthers":              {Waiting, "has been pending for {asked}, and is not for a kubelet's first certificate", "find the approver of its signer: `kubectl describe csr {request}`", false},

	// What does not exist, or is not the only one.
	reasonGone:                  {Gone, "does not exist any more", "if the machines that follow it end alike, " + fixAll, false},
	reasonGone + "/GivenUp":     {Gone, "does not exist any more: it became Failed {ago}{after}", "if the machines that follow it end alike, " + fixAll, false},
	reasonGone + "/NeverJoined": {Gone, "does not exist any more: it was deleted {ago}{after}, and no node of it had ever joined", "if the machines that follow it end alike, " + fixAll, false},
	reasonGone + "/NodeDeleted": {Gone, "does not exist any more: it was deleted {ago}{after}, because somebody had deleted its node", "find out who deleted the node: a person, or the cloud controller manager for an instance that did not run", false},
	reasonGone + "/Unwell":      {Gone, "does not exist any more: it was deleted {ago}{after}, while its node was missing or unhealthy", "if the machines that follow it end alike, " + fixAll, false},
	reasonGone + "/NodeLeft":    {Gone, "does not exist any more, and node {node} is left of it", "delete the node, if no instance runs its kubelet: `kubectl describe node {node}`", false},
	reasonGone + "/NodeLeaving": {Gone, "does not exist any more, and its node {node} has been in deletion for {deleted}", wait, true},
	reasonGone + "/NodeHeld":    {Stuck, "does not exist any more, and its node {node} has been in deletion for {deleted}, held by {finalizers}", "see that the program which put the finalizer there runs; take the finalizer off only if it never will", false},
	ReasonNotFound:              {Unknown, "does not exist, and no evidence of it is kept", "see the names there are: `kubectl get {kinds}`, or give the namespace with -n", false},
	ReasonNotFound + "/Near":    {Unknown, "does not exist, and no evidence of it is kept", "perhaps one of these is meant: {near}", false},
	ReasonNotReadable:           {Unknown, "was not found, but not all could be read", "see the names there are: `kubectl get {kinds}`, or give the namespace with -n", false},
	ReasonNotReadable + "/Near": {Unknown, "was not found, but not all could be read", "perhaps one of these is meant: {near}", false},
	"SeveralObjects":            {Ambiguous, "is ambiguous: {count} objects have the name", "say which API: {api name}", false},
	"SeveralObjects/Namespaces": {Ambiguous, "is ambiguous: {count} objects have the name", "say which namespace: -n {first namespace}", false},
}

// ReasonUnattended is the reason of what waits for a controller that is not at work.
const ReasonUnattended = "ControllerNotRunning"

const kubelet = unready + "and its kubelet has waited for {asked} for a certificate{limit}"

// Reasons that no controller has.
const (
	ReasonNotSeen     = "NotSeen"
	ReasonNotFound    = "NotFound"
	ReasonNotReadable = "NotReadable"
	// ReasonNoMachines is that of checks that select nothing.
	ReasonNoMachines = "NoMachines"
	// ReasonRequestDenied is that of certificate requests which somebody has denied.
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

// finding is what is the matter with an object.
type finding struct {
	// key finds the advice.
	key string
	// reason is the word that was recorded; empty: that of the key.
	reason string
	// state and text are others than the advice's; empty: those.
	state State
	text  string
	chain []Cause
	// fill are the words for the braces, each after what it replaces.
	fill []string
}

// with adds words for braces.
func (f finding) with(pairs ...string) finding {
	f.fill = append(f.fill[:len(f.fill):len(f.fill)], pairs...)
	return f
}

// variant is the key of a reason where it means this in particular; the reason's own
// where it has no such entry.
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

// fillIn replaces the words in braces. Of two for one the first counts.
func fillIn(text string, fill []string) string {
	pairs := make([]string, len(fill))
	for i, word := range fill {
		if pairs[i] = word; i%2 == 0 {
			pairs[i] = "{" + word + "}"
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// reasonOf is the reason in the key of an advice.
func reasonOf(key string) string {
	reason, _, _ := strings.Cut(key, "/")
	return reason
}
