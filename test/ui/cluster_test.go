package ui_test

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/plugin/live"
	"github.com/millwright-dev/millwright/internal/plugin/ui"
	"github.com/millwright-dev/millwright/internal/plugin/uiserver"
)

// serveUsers serves the page to many users over TLS, and returns its address.
func serveUsers(t *testing.T) string {
	t.Helper()
	env := devplanetest.Start(t)
	crt, key, err := certutil.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(crt, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := uiserver.Options{MaxSessions: 5, CheckInterval: time.Second, Options: ui.Options{
		Cluster: "blue", Site: ui.Site{Hosts: []string{"localhost"}}, Options: live.Options{Control: rest.AnonymousClientConfig(env.Config), Clock: clock.RealClock{}},
	}}
	devplanetest.Run(t, func(ctx context.Context) error {
		return uiserver.New(ctx, o).Serve(ctx, l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	})
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return "https://localhost:" + port + "/"
}

// viewer creates a user who may read the machines of a namespace, and returns the user's token.
func viewer(t *testing.T, namespace, name string) string {
	t.Helper()
	c, ctx, meta := devplanetest.Start(t).Client, t.Context(), metav1.ObjectMeta{Namespace: namespace, Name: name}
	if _, err := c.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"machine.openshift.io", "machine.sapcloud.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}}}
	if _, err := c.RbacV1().Roles(namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}}}
	if _, err := c.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	answer, err := c.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

// typed enters a text into the input, as a user does.
func typed(b *browser, input, text string) {
	b.t.Helper()
	do(b, chromedp.Focus(input))
	evaluate[any](b, `document.activeElement.select(), 0`)
	do(b, chromedp.KeyEvent(text))
}

// TestPageInACluster: a user signs in with a token, chooses a namespace, and is signed out when the token is not valid any more.
// The token is in no address, no cookie and no storage that outlives the tab.
func TestPageInACluster(t *testing.T) {
	w := newWorld(t)
	w.broken()
	token, address := viewer(t, w.namespace, "ann"), serveUsers(t)
	b := openBrowser(t, chromedp.IgnoreCertErrors)
	do(b, chromedp.Navigate(address))
	b.awaits("Sign in", "kubectl create token")
	if os.Getenv("AXE") != "" {
		b.accessible("sign in")
	}
	b.picture("ui-sign-in")
	typed(b, `//input[@type="password"]`, token[:len(token)-2])
	do(b, chromedp.Click(`//button[text()="Sign in"]`))
	b.awaits("the API server does not accept the token")
	typed(b, `//input[@type="password"]`, token)
	do(b, chromedp.Click(`//button[text()="Sign in"]`))
	b.awaits("system:serviceaccount:"+w.namespace+":ann", "You may need another namespace, or the right to read machines")
	typed(b, `//form[@aria-label="namespace and user"]//input`, w.namespace)
	do(b, chromedp.Click(`//button[text()="Show"]`))
	b.awaits("Wrong now", "mill-bad", "pool-x", "mill-good")
	b.picture("ui-cluster")
	b.width(390)
	if wide := evaluate[int64](b, "document.documentElement.scrollWidth"); wide > 390 {
		t.Errorf("the page is %d pixels wide on a screen of 390", wide)
	}
	b.width(1280)
	for what, expression := range map[string]string{
		"the address":        "location.href",
		"a requested URL":    `JSON.stringify(performance.getEntriesByType("resource").map(e => e.name))`,
		"a cookie":           "document.cookie",
		"the local storage":  "JSON.stringify(localStorage)",
		"the text":           "document.documentElement.outerHTML",
		"the page's history": "JSON.stringify(history.state)",
	} {
		if text := evaluate[string](b, expression); strings.Contains(text, token) {
			t.Errorf("%s has the token", what)
		}
	}
	if err := devplanetest.Start(t).Client.CoreV1().ServiceAccounts(w.namespace).Delete(t.Context(), "ann", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.awaits("Sign in", "the API server does not accept the token")
	if strings.Contains(b.body(), "mill-bad") {
		t.Error("the page shows machines to a user who was signed out")
	}
}
