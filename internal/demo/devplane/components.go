package devplane

import (
	"fmt"
	"os"
	"path/filepath"
)

const (
	// serviceRange are the addresses of Services; the API server's own is the first.
	serviceRange = "10.96.0.0/16"
	serviceIP    = "10.96.0.1"
	// clientQPS, clientBurst: with its default of 20 requests per second kube-controller-manager needs 8 s instead of 4 to be ready.
	clientQPS   = "500"
	clientBurst = "1000"
)

// auditPolicy logs user, verb, object and result once per request, without bodies.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
`

// arguments is the command line of a component without the user's own arguments.
func (cp *ControlPlane) arguments(component string, audit bool) ([]string, error) {
	switch component {
	case Etcd:
		return cp.etcdArguments(), nil
	case APIServer:
		return cp.apiServerArguments(audit)
	case ControllerManager:
		return cp.controllerManagerArguments(), nil
	case Scheduler:
		return cp.schedulerArguments(), nil
	case Kwok:
		return cp.kwokArguments(), nil
	default:
		return nil, fmt.Errorf("no command line for component %q", component)
	}
}

// etcdArguments are faster, but less durable: data may be lost at a power cut, though not if a process is killed.
func (cp *ControlPlane) etcdArguments() []string {
	url := fmt.Sprintf("http://127.0.0.1:%d", cp.Ports.Etcd)
	return []string{
		"--data-dir=" + filepath.Join(cp.Dir, "etcd"),
		"--listen-client-urls=" + url,
		"--advertise-client-urls=" + url,
		"--listen-peer-urls=http://127.0.0.1:0",
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func (cp *ControlPlane) apiServerArguments(audit bool) ([]string, error) {
	args := []string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", cp.Ports.Etcd),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", cp.Ports.APIServer),
		"--endpoint-reconciler-type=none", // the default refuses a loopback address
		"--tls-cert-file=" + cp.pkiPath("serving.crt"),
		"--tls-private-key-file=" + cp.pkiPath("serving.key"),
		"--client-ca-file=" + cp.CAFile(),
		"--enable-bootstrap-token-auth",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + cp.pkiPath("sa.pub"),
		"--service-account-signing-key-file=" + cp.pkiPath("sa.key"),
		"--service-cluster-ip-range=" + serviceRange,
		"--kubelet-client-certificate=" + cp.pkiPath("kubelet-client.crt"),
		"--kubelet-client-key=" + cp.pkiPath("kubelet-client.key"),
		"--kubelet-certificate-authority=" + cp.CAFile(),
		"--kubelet-preferred-address-types=InternalIP,Hostname",
	}
	if !audit {
		return args, nil
	}
	policy := filepath.Join(cp.Dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("writing the audit policy: %w", err)
	}
	return append(args, "--audit-policy-file="+policy, "--audit-log-path="+cp.AuditLog()), nil
}

// controllerManagerArguments disables the controller that approves node certificates, because Millwright approves them.
func (cp *ControlPlane) controllerManagerArguments() []string {
	return []string{
		"--kubeconfig=" + cp.componentKubeconfig(ControllerManager),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", cp.Ports.ControllerManager),
		"--tls-cert-file=" + cp.pkiPath("serving.crt"),
		"--tls-private-key-file=" + cp.pkiPath("serving.key"),
		"--leader-elect=false",
		"--controllers=*,bootstrap-signer-controller,token-cleaner-controller,-certificatesigningrequest-approving-controller",
		"--cluster-signing-cert-file=" + cp.CAFile(),
		"--cluster-signing-key-file=" + cp.pkiPath("ca.key"),
		"--root-ca-file=" + cp.CAFile(),
		"--service-account-private-key-file=" + cp.pkiPath("sa.key"),
		"--use-service-account-credentials",
		"--flex-volume-plugin-dir=" + filepath.Join(cp.Dir, "flexvolumes"), // if root runs it, the default is created below /usr
		"--kube-api-qps=" + clientQPS,
		"--kube-api-burst=" + clientBurst,
	}
}

func (cp *ControlPlane) schedulerArguments() []string {
	return []string{
		"--kubeconfig=" + cp.componentKubeconfig(Scheduler),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", cp.Ports.Scheduler),
		"--tls-cert-file=" + cp.pkiPath("serving.crt"),
		"--tls-private-key-file=" + cp.pkiPath("serving.key"),
		"--leader-elect=false",
		"--kube-api-qps=" + clientQPS,
		"--kube-api-burst=" + clientBurst,
	}
}

// kwokArguments makes kwok simulate the nodes that have its annotation, each with a lease.
func (cp *ControlPlane) kwokArguments() []string {
	return []string{
		"--kubeconfig=" + cp.componentKubeconfig(Kwok),
		"--manage-all-nodes=false",
		"--manage-nodes-with-annotation-selector=" + KwokNodeAnnotation + "=" + KwokNodeValue,
		"--node-lease-duration-seconds=40",
		"--cidr=10.200.0.0/16",
		fmt.Sprintf("--server-address=127.0.0.1:%d", cp.Ports.Kwok),
	}
}

// kwok simulates each Node with this annotation: it makes the Node Ready, renews its lease, and lets bound pods run.
const (
	KwokNodeAnnotation = "kwok.x-k8s.io/node"
	KwokNodeValue      = "fake"
)

func (cp *ControlPlane) pkiPath(name string) string { return filepath.Join(cp.Dir, "pki", name) }

func (cp *ControlPlane) logPath(component string) string {
	return filepath.Join(cp.Dir, "logs", component+".log")
}
