// A gemm manifest for tests of the references and of verify: pointers only, tiles of 128 x 64.
#pragma once

// [dtype] is that of A and B, [output] that of D and the bias; string literals.
#define GEMM_MANIFEST(dtype, output)                                                              \
    "{\"tmagen_manifest\": 2, \"name\": \"gemm\", \"family\": \"gemm\", \"entry\": \"gemm\","     \
    " \"arch\": \"sm_90a\", \"source\": \"gemm.cu\", \"block\": [128, 1, 1],"                     \
    " \"cluster\": [1, 1, 1], \"shared_memory\": 0,"                                              \
    " \"dims\": [{\"name\": \"m\"}, {\"name\": \"n\", \"multiple_of\": 8},"                       \
    "            {\"name\": \"k\", \"multiple_of\": 8}],"                                         \
    " \"tensors\": ["                                                                             \
    "  {\"name\": \"a\", \"dtype\": \"" dtype "\", \"dims\": [\"m\", \"k\"],"                     \
    "   \"access\": \"read\"},"                                                                   \
    "  {\"name\": \"b\", \"dtype\": \"" dtype "\", \"dims\": [\"n\", \"k\"],"                     \
    "   \"access\": \"read\"},"                                                                   \
    "  {\"name\": \"bias\", \"dtype\": \"" output "\", \"dims\": [\"n\"], \"access\": \"read\"}," \
    "  {\"name\": \"d\", \"dtype\": \"" output "\", \"dims\": [\"m\", \"n\"],"                    \
    "   \"access\": \"write\"}],"                                                                 \
    " \"grid\": {\"rule\": \"tiles\", \"tiles\": [{\"dim\": \"m\", \"by\": 128},"                 \
    "           {\"dim\": \"n\", \"by\": 64}]},"                                                  \
    " \"params\": ["                                                                              \
    "  {\"kind\": \"pointer\", \"tensor\": \"a\"}, {\"kind\": \"pointer\", \"tensor\": \"b\"},"   \
    "  {\"kind\": \"pointer\", \"tensor\": \"bias\"}, {\"kind\": \"pointer\", \"tensor\":"        \
    "   \"d\"},"                                                                                  \
    "  {\"kind\": \"dim\", \"dim\": \"m\", \"type\": \"i32\"},"                                   \
    "  {\"kind\": \"dim\", \"dim\": \"n\", \"type\": \"i32\"},"                                   \
    "  {\"kind\": \"dim\", \"dim\": \"k\", \"type\": \"i32\"},"                                   \
    "  {\"kind\": \"stride\", \"tensor\": \"a\", \"axis\": 0, \"type\": \"i64\"},"                \
    "  {\"kind\": \"stride\", \"tensor\": \"b\", \"axis\": 0, \"type\": \"i64\"},"                \
    "  {\"kind\": \"stride\", \"tensor\": \"d\", \"axis\": 0, \"type\": \"i64\"}],"               \
    " \"reference\": {\"dims\": \"m n k\", \"small\": \"1x1x1 136x72x72 127x127x130\","           \
    "  \"full\": \"1x1x1 127x63x63 401x312x1000 2048x2048x2048\","                                \
    "  \"inputs\": \"special exact\", \"flops\": [[2, \"m\", \"n\", \"k\"]], \"cost\": [[2, "     \
    "\"k\"]],"                                                                                    \
    "  \"matrix\": true, \"product\": {\"a\": \"a\", \"b\": \"b\", \"bias\": \"bias\"},"          \
    "  \"values\": {\"ops\": [{\"name\": \"bias\", \"value\": \"x + y\", \"error\": \"0\","       \
    "   \"operand\": \"bias\", \"kind\": \"row\"}]}}}"
