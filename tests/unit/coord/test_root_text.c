/* test_root_text.c - the text of the root is read as it was written, and untrusted text is refused.
 */
#include <string.h>

#include "coord/node/root_text.h"
#include "support/group.h"

#define IDENTITY "0123456789abcdef0123456789abcdef"

static void root_comes_back(void **state)
{
    struct root_info info = {.generation = UINT32_MAX, .identity = IDENTITY};
    struct root_info got = {0};
    char text[ROOT_TEXT_MAX];
    size_t len = root_text_format(text, &info);

    assert_true(root_text_parse(&got, text, len));
    assert_int_equal(got.generation, UINT32_MAX);
    assert_string_equal(got.identity, IDENTITY);
}

static void bad_roots_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "x",
        "slotmq 1\nfence_generation 1\n",
        "slotmq 1\nfence_generation 1\nidentity " IDENTITY "\n",
        "slotmq 3\nfence_generation 1\nidentity " IDENTITY "\n",
        "slotmq 2\nfence_generation 0\nidentity " IDENTITY "\n",
        "slotmq 2\nfence_generation 1\n",
        "slotmq 2\nfence_generation 1\nidentity 0123\n",
        "slotmq 2\nfence_generation 1\nidentity G123456789abcdef0123456789abcdef\n",
        "slotmq 2\nfence_generation 1\nidentity " IDENTITY IDENTITY IDENTITY IDENTITY "\n",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct root_info got = {0};

        assert_false(root_text_parse(&got, texts[i], strlen(texts[i])));
        assert_int_equal(got.generation, 0);
    }
}

TEST_GROUP(root_text)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_comes_back),
        cmocka_unit_test(bad_roots_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
