package fleet

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
)

// bootstrapLife is how long a machine may join if its user data does not limit the time.
const bootstrapLife = 24 * time.Hour

// writeBootstrap writes a bootstrap kubeconfig to the fleet's folder, for machines whose own user data points to something that does
// not exist here, such as a server of machine configurations. It returns the path.
func writeBootstrap(ctx context.Context, f *Fleet) (string, error) {
	var random [11]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	text := hex.EncodeToString(random[:])
	id, key := text[:6], text[6:]
	token := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + id},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": id, "token-secret": key, "usage-bootstrap-authentication": "true",
			"auth-extra-groups": devplane.BootstrapGroup, "expiration": time.Now().Add(bootstrapLife).UTC().Format(time.RFC3339),
		},
	}
	if err := f.Client.Create(ctx, token); err != nil {
		return "", fmt.Errorf("make a bootstrap token: %w", err)
	}
	kubeconfig, err := f.Plane.TokenKubeconfig(id + "." + key)
	if err != nil {
		return "", err
	}
	path := filepath.Join(f.Dir, "bootstrap.kubeconfig")
	return path, os.WriteFile(path, kubeconfig, 0o600)
}
