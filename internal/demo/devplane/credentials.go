package devplane

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Identities that the API server's own bootstrap policy knows.
const (
	adminUser    = "millwright-admin"
	mastersGroup = "system:masters"
)

// CAFile is the certificate authority of servers, clients and nodes, for example for a kubelet's --client-ca-file.
func (cp *ControlPlane) CAFile() string { return filepath.Join(cp.Dir, "pki", "ca.crt") }

// RESTConfig is the config of the cluster administrator, without client-side throttling.
func (cp *ControlPlane) RESTConfig() (*rest.Config, error) {
	content, err := os.ReadFile(cp.KubeconfigPath)
	if err != nil {
		return nil, fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	return unthrottled(content)
}

// RESTConfigFor is a config of any user in any groups. RBAC grants the rights.
func (cp *ControlPlane) RESTConfigFor(user string, groups ...string) (*rest.Config, error) {
	content, err := cp.Kubeconfig(user, groups...)
	if err != nil {
		return nil, err
	}
	return unthrottled(content)
}

func unthrottled(kubeconfig []byte) (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("parsing a kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// Kubeconfig creates a self-contained kubeconfig of any user in any groups, with a new client certificate that is valid for a year.
func (cp *ControlPlane) Kubeconfig(user string, groups ...string) ([]byte, error) {
	authority, err := loadPKI(filepath.Join(cp.Dir, "pki"))
	if err != nil {
		return nil, fmt.Errorf("loading the certificate authority: %w", err)
	}
	pair, err := authority.client(user, groups...)
	if err != nil {
		return nil, err
	}
	return cp.kubeconfig(user, &clientcmdapi.AuthInfo{ClientCertificateData: pair.cert, ClientKeyData: pair.key})
}

// TokenKubeconfig creates a self-contained kubeconfig with a bearer token, for example a node's bootstrap token.
func (cp *ControlPlane) TokenKubeconfig(token string) ([]byte, error) {
	return cp.kubeconfig("token", &clientcmdapi.AuthInfo{Token: token})
}

func (cp *ControlPlane) kubeconfig(user string, auth *clientcmdapi.AuthInfo) ([]byte, error) {
	ca, err := os.ReadFile(cp.CAFile())
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority: %w", err)
	}
	const name = "millwright"
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: cp.Server, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: auth},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: user}},
		CurrentContext: name,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig of %s: %w", user, err)
	}
	return content, nil
}

// writeCredentials creates the certificates and kubeconfigs of the components.
func (cp *ControlPlane) writeCredentials(opts *Options) error {
	authority, err := openPKI(filepath.Join(cp.Dir, "pki"))
	if err != nil {
		return err
	}
	names := append([]string{
		"127.0.0.1", "localhost", serviceIP,
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}, opts.ExtraSANs...)
	serving, err := authority.server(APIServer, names)
	if err != nil {
		return err
	}
	toKubelets, err := authority.client("kube-apiserver-kubelet-client", mastersGroup)
	if err != nil {
		return err
	}
	for name, pair := range map[string]keyPair{"serving": serving, "kubelet-client": toKubelets} {
		if err := authority.write(name, pair); err != nil {
			return fmt.Errorf("writing the certificate %s: %w", name, err)
		}
	}
	return cp.writeKubeconfigs()
}

func (cp *ControlPlane) writeKubeconfigs() error {
	users := []struct {
		path, user string
		groups     []string
	}{
		{cp.KubeconfigPath, adminUser, []string{mastersGroup}},
		{cp.componentKubeconfig(ControllerManager), "system:" + ControllerManager, nil},
		{cp.componentKubeconfig(Scheduler), "system:" + Scheduler, nil},
		{cp.componentKubeconfig(Kwok), Kwok, []string{mastersGroup}},
	}
	for _, user := range users {
		content, err := cp.Kubeconfig(user.user, user.groups...)
		if err != nil {
			return err
		}
		if err := os.WriteFile(user.path, content, 0o600); err != nil {
			return fmt.Errorf("writing the kubeconfig of %s: %w", user.user, err)
		}
	}
	return nil
}

func (cp *ControlPlane) componentKubeconfig(component string) string {
	return filepath.Join(cp.Dir, "pki", component+".kubeconfig")
}
